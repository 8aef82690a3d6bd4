/** The tokens of a function's text, as far as they matter here. `1/0` is `Infinity` in a minified bundle. */
const TOKEN = /* @__PURE__ */ tokenPattern()

function tokenPattern(): RegExp {
  const word = String.raw`[\p{ID_Start}$_][\p{ID_Continue}$]*`
  const kinds = [
    String.raw`(?<blank>\s+|//[^\n]*|/\*[^]*?\*/|\.\.\.|1/0(?![\d.]))`,
    String.raw`(?<text>'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*")`,
    String.raw`(?<number>0x[\da-f_]+|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)`,
    String.raw`\??\.\s*(?<property>#?${word})`,
    `(?<word>${word})`,
    '(?<sign>[^])',
  ]
  return new RegExp(kinds.join('|'), 'iuy')
}

/** From where a template begins or goes on, to its end or its next expression. */
const CHUNK = /((?:[^`\\$]|\\[^]|\$(?!\{))*)(`|\$\{)/uy

const PATTERN = /\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//uy

/** A slash after one of these divides; any other begins a pattern. */
const ENDS_VALUE = /^(?:[)\]]|(?!return$|case$|typeof$|await$|void$)[\p{ID_Continue}$"'`].*)$/u

const ESCAPE = /\\(?:u\{(?<point>[\da-f]+)\}|[ux](?<unit>(?<=u)[\da-f]{4}|(?<=x)[\da-f]{2})|(?<sign>[^]))/giu
const SIGNS: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  0: '\0',
  '\n': '',
}

/**
 * The parts of a function's text that tell one version of it from another: the names of properties, strings and numbers, in
 * their order. Names of variables, comments, white space, quotes and the spelling of literals are left out: bundlers and
 * minifiers change these in code that does the same.
 */
class TellingParts {
  readonly #code: string
  readonly #parts: string[] = []
  /** For each open brace, whether it belongs to a template. */
  readonly #braces: boolean[] = []
  #at = 0
  #before = ''

  constructor(code: string) {
    this.#code = code
  }

  read(): readonly string[] {
    while (this.#at < this.#code.length) this.#readToken()
    return this.#parts
  }

  #readToken(): void {
    const groups = this.#match(TOKEN)?.groups ?? {}
    const { blank, text, number, property, word, sign } = groups
    if (blank !== undefined) return
    if (text !== undefined) this.#addText(text.slice(1, -1))
    if (number !== undefined) this.#addNumber(number)
    if (property !== undefined) this.#parts.push(property)
    if (sign !== undefined) this.#readSign(sign)
    this.#before = text ?? number ?? property ?? word ?? sign ?? ''
  }

  #readSign(sign: string): void {
    if (sign === '`') return this.#readChunk()
    if (sign === '{') this.#braces.push(false)
    if (sign === '}' && this.#braces.pop() === true) return this.#readChunk()
    if (sign !== '/' || ENDS_VALUE.test(this.#before)) return
    this.#at -= 1
    const [pattern] = this.#match(PATTERN) ?? []
    if (pattern === undefined) this.#at += 1
    else this.#parts.push(pattern)
  }

  #readChunk(): void {
    const [, text = '', end] = this.#match(CHUNK) ?? []
    if (end === '${') this.#braces.push(true)
    this.#addText(text)
  }

  #addText(text: string): void {
    // Empty texts come and go where templates become sums.
    if (text !== '') this.#parts.push(text.replaceAll(ESCAPE, unescaped))
  }

  #addNumber(number: string): void {
    // `!0` is `true` in a minified bundle, and `void 0` is `undefined`.
    if (this.#before !== '!' && this.#before !== 'void')
      this.#parts.push(String(Number(number.replaceAll('_', ''))))
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#code)
    if (match === null) return undefined
    this.#at = pattern.lastIndex
    return match
  }
}

/** A short text that is the same for the same source, bundled or not, and another one when the source says another thing. */
export function digestOfCode(code: (...parameters: never[]) => unknown): string {
  return hashText(new TellingParts(Function.prototype.toString.call(code)).read().join('\n'))
}

function unescaped(...match: readonly unknown[]): string {
  const { point, unit, sign = '' } = match.at(-1) as Readonly<Record<string, string | undefined>>
  const code = point ?? unit
  return code === undefined ? (SIGNS[sign] ?? sign) : String.fromCodePoint(Number.parseInt(code, 16))
}

/** 53 bits of two FNV-1a hashes: no secret, and no more than a few versions are ever compared. */
function hashText(text: string): string {
  let [high, low] = [0x811c9dc5, 0x050c5d1f]
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    high = Math.imul(high ^ code, 0x01000193)
    low = Math.imul(low ^ (code + index), 0x01000193)
  }
  return `${(high >>> 0).toString(36)}${(low >>> 11).toString(36)}`
}
