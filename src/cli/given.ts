import { parseArgs } from 'node:util'
import { parseDuration } from '../primitives/duration.ts'
import { messageOf } from '../primitives/message.ts'
import { UsageError } from './exit.ts'
import { COMMON, type OptionSpec, type Signature } from './signature.ts'

/** Options that name a place, and what looks like one of their values. */
const PLACES = [
  { option: 'postgres', value: '<url>', of: /^postgres(ql)?:/ },
  { option: 'url', value: '<url>', of: /^https?:/ },
  { option: 'db', value: '<file>', of: /\.(db|sqlite3?)$/ },
]

/** The arguments of a command, checked by its signature. */
export class Given {
  readonly #options = new Map<string, string[]>()
  readonly #words = new Map<string, string>()

  /** @throws UsageError for arguments that are not of the signature. */
  constructor(args: readonly string[], signature: Signature) {
    const options: Readonly<Record<string, OptionSpec>> = { ...signature.options, ...COMMON }
    const { tokens } = parseArgs({
      args: [...args],
      options: Object.fromEntries(
        Object.entries(options).map(([name, { value }]) => [
          name,
          { type: value === undefined ? 'boolean' : 'string', ...(name === 'help' ? { short: 'h' } : {}) },
        ]),
      ),
      strict: false,
      allowPositionals: true,
      tokens: true,
    })
    const words: string[] = []
    for (const token of tokens) {
      if (token.kind === 'positional') words.push(token.value)
      if (token.kind === 'option') this.#add(token, options)
    }
    // Help is for those that do not know the words yet.
    if (!this.has('help')) this.#name(words, signature)
  }

  /** Whether an option was given. */
  has(name: string): boolean {
    return this.#options.has(name)
  }

  /** The value of an option. */
  option(name: string): string | undefined {
    return this.#options.get(name)?.[0]
  }

  /** All values of an option that may be repeated; `undefined` when there is none. */
  list(name: string): readonly string[] | undefined {
    return this.#options.get(name)
  }

  /** The word of this name; empty for one that was left out. */
  word(name: string): string {
    return this.#words.get(name) ?? ''
  }

  /** The value of an option as one of these, whatever its case. */
  among<Value extends string>(name: string, values: readonly Value[]): readonly Value[] | undefined {
    return this.list(name)?.map((text) => {
      const value = values.find((each) => each === text.toUpperCase())
      if (value === undefined)
        throw new UsageError(`--${name} ${quote(text)} must be one of ${values.join(', ')}`)
      return value
    })
  }

  /** The value of an option as a whole number. */
  whole(name: string, { from, to }: { readonly from: number; readonly to: number }): number | undefined {
    const text = this.option(name)
    if (text === undefined) return undefined
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (number >= from && number <= to) return number
    throw new UsageError(`--${name} ${quote(text)} must be a whole number from ${from} to ${to}`)
  }

  /** The value of an option as a duration; it stays a text. */
  duration(name: string): string | undefined {
    const text = this.option(name)
    if (text !== undefined) checked(name, text, (value) => parseDuration(value, name))
    return text
  }

  /** The value of an option as JSON. */
  json(name: string): unknown {
    const text = this.option(name)
    if (text === undefined) return undefined
    return checked(name, text, (value): unknown => JSON.parse(value))
  }

  #add(
    { name, rawName, value, inlineValue }: OptionToken,
    options: Readonly<Record<string, OptionSpec>>,
  ): void {
    const spec = Object.hasOwn(options, name) ? options[name] : undefined
    if (spec === undefined) throw new UsageError(`there is no option ${rawName}${suggestion(name, options)}`)
    if (spec.value === undefined && inlineValue === true) throw new UsageError(`--${name} takes no value`)
    const isMissing = value === undefined || value === '' || (inlineValue === false && /^-./.test(value))
    if (spec.value !== undefined && isMissing)
      throw new UsageError(`--${name} needs a value: --${name} ${spec.value}`)
    const before = this.#options.get(name)
    if (before !== undefined && spec.value !== undefined && spec.isRepeatable !== true)
      throw new UsageError(`--${name} was given twice`)
    this.#options.set(name, [...(before ?? []), value ?? ''])
  }

  #name(words: readonly string[], { words: specs = [], options }: Signature): void {
    for (const [at, { name, isOptional }] of specs.entries()) {
      const word = words[at]
      if (word !== undefined && word !== '') this.#words.set(name, word)
      else if (isOptional !== true) throw new UsageError(`<${name}> is missing`)
    }
    const [more] = words.slice(specs.length)
    if (more === undefined) return
    const place = PLACES.find(({ option, of }) => Object.hasOwn(options, option) && of.test(more))
    // An address may have a password in it.
    if (place !== undefined)
      throw new UsageError(`a place is named by an option: --${place.option} ${place.value}`)
    throw new UsageError(`there is nothing that ${quote(more)} could be`)
  }
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

function checked<Value>(name: string, text: string, read: (text: string) => Value): Value {
  try {
    return read(text)
  } catch (error) {
    throw new UsageError(`--${name} ${quote(text)} cannot be read: ${messageOf(error)}`)
  }
}

/** A word of the user, as it is shown again. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text)
}

function suggestion(name: string, options: Readonly<Record<string, OptionSpec>>): string {
  const near = nearest(name, Object.keys(options))
  return near === undefined ? '' : `: did you mean --${near}?`
}

/** The name that differs in the fewest letters, if there is one that may have been meant. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((name) => [distance(word, name), name] as const)
    .sort(([one], [other]) => one - other)
  return best !== undefined && best[0] <= Math.max(1, Math.floor(word.length / 3)) ? best[1] : undefined
}

/** How many letters have to be changed, added or taken away. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, letter] of Array.from(one).entries())
    row = row.reduce<number[]>((next, above, column) => {
      if (column === 0) return [at + 1]
      const left = next[column - 1] ?? 0
      const diagonal = (row[column - 1] ?? 0) + (other[column - 1] === letter ? 0 : 1)
      return [...next, Math.min(above + 1, left + 1, diagonal)]
    }, [])
  return row.at(-1) ?? 0
}
