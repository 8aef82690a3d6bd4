import { type AST, RegExpParser } from '@eslint-community/regexpp'

/** Without what not all runtimes of today know: flags inside of a pattern. */
const PARSER = new RegExpParser({ ecmaVersion: 2024 })
/** Of all patterns of a schema. */
const MOST_PARTS = 10_000
const ASCII = 128
const WORD = Array.from({ length: ASCII }, (_, character) => /\w/.test(String.fromCharCode(character)))

/** A part of a machine: it reads a character, asks something of a place, or is passed. */
export interface PatternPart {
  readonly id: number
  /** Whether a character leads on. */
  readonly reads: ((character: number) => boolean) | undefined
  readonly holds: ((reading: ReadText, place: number) => boolean) | undefined
  /** Absent at the end. */
  readonly next: PatternPart | undefined
  /** Another way on. */
  also: PatternPart | undefined
}

/** What reads a text from each place, or from its start alone. Backwards, it finds what is ahead of a place. */
export interface Machine {
  readonly start: PatternPart
  readonly isBackwards: boolean
  readonly isFromStart: boolean
}

/** A text that is read. */
export interface ReadText {
  readonly text: string
  /** For each machine that looks ahead or behind, the places from which it sees what it looks for. */
  readonly seen: readonly Uint8Array[]
  /** Is told the steps as they are taken, and throws when they are too many. */
  readonly spend: (steps: number) => void
}

/** Writes the machines of a pattern, each part after what follows it: those that look ahead or behind, and last the one that asks them. */
export class MachineWriter {
  readonly machines: Machine[] = []
  /** Parts of all machines, with repetitions written out. */
  size = 0
  readonly #most: number
  readonly #looks = new Map<AST.Node, number>()
  readonly #characters = new Map<string, PatternPart['reads']>()

  constructor(source: string, others: number) {
    this.#most = MOST_PARTS - others
    this.#write(parsed(source), false)
  }

  /** Answers the number of the machine. */
  #write(node: AST.Pattern | AST.LookaroundAssertion, isBackwards: boolean): number {
    const start = this.#alternatives(node, this.#part({}), isBackwards)
    const isFromStart = node.type === 'Pattern' && node.alternatives.every(beginsAtStart)
    return this.machines.push({ start, isBackwards, isFromStart }) - 1
  }

  #part({ reads, holds, next, also }: Partial<PatternPart>): PatternPart {
    if (this.size >= this.#most)
      throw new Error('is too large: the patterns of a schema have at most 10,000 parts')
    return { id: this.size++, reads, holds, next, also }
  }

  #alternatives(
    { alternatives }: { readonly alternatives: readonly AST.Alternative[] },
    next: PatternPart,
    isBackwards: boolean,
  ): PatternPart {
    const starts = alternatives.map(({ elements }) => {
      const fromLast = isBackwards ? elements : [...elements].reverse()
      return fromLast.reduce((after, element) => this.#element(element, after, isBackwards), next)
    })
    return starts.reduce((first, second) => this.#part({ next: first, also: second }))
  }

  #element(element: AST.Element, next: PatternPart, isBackwards: boolean): PatternPart {
    switch (element.type) {
      case 'Group':
      case 'CapturingGroup':
        return this.#alternatives(element, next, isBackwards)
      case 'Quantifier':
        return this.#repeated(element, next, isBackwards)
      case 'Assertion':
        return this.#part({ holds: this.#asked(element), next })
      case 'Backreference':
        throw new Error(`refers back to a group, which is not supported: ${element.raw}`)
      default:
        return this.#part({ reads: this.#charactersOf(element.raw), next })
    }
  }

  #repeated({ element, min, max }: AST.Quantifier, next: PatternPart, isBackwards: boolean): PatternPart {
    let part = next
    if (max === Infinity) {
      part = this.#part({ next })
      part.also = this.#element(element, part, isBackwards)
    } else
      for (let times = min; times < max; times += 1)
        part = this.#part({ next, also: this.#element(element, part, isBackwards) })
    for (let times = 0; times < min; times += 1) {
      const first = this.#element(element, part, isBackwards)
      // What has no part need not be repeated.
      if (first === part) break
      part = first
    }
    return part
  }

  #asked(assertion: AST.Assertion): PatternPart['holds'] {
    switch (assertion.kind) {
      case 'start':
        return (_, place) => place === 0
      case 'end':
        return ({ text }, place) => place === text.length
      case 'word':
        return ({ text }, place) => (isWord(text, place - 1) !== isWord(text, place)) !== assertion.negate
      default: {
        const machine = this.#looks.get(assertion) ?? this.#write(assertion, assertion.kind === 'lookahead')
        this.#looks.set(assertion, machine)
        const found = assertion.negate ? 0 : 1
        return ({ seen }, place) => seen[machine]?.[place] === found
      }
    }
  }

  /** The runtime says which characters a part stands for, so that all of them are as in ECMAScript. */
  #charactersOf(source: string): PatternPart['reads'] {
    const known = this.#characters.get(source)
    if (known !== undefined) return known
    const expression = new RegExp(`^${source}$`, 'u')
    const isOne = (character: number): boolean => expression.test(String.fromCodePoint(character))
    const ascii = Array.from({ length: ASCII }, (_, character) => isOne(character))
    let last = 0
    let isLast = false
    const reads = (character: number): boolean => {
      if (character < ASCII) return ascii[character] === true
      // Many parts ask for one character, after each other.
      if (character !== last) isLast = isOne(character)
      last = character
      return isLast
    }
    this.#characters.set(source, reads)
    return reads
  }
}

function parsed(source: string): AST.Pattern {
  try {
    return PARSER.parsePattern(source, 0, source.length, { unicode: true })
  } catch (error) {
    throw new Error(`is no pattern: ${(error as Error).message}`, { cause: error })
  }
}

function beginsAtStart({ elements: [first] }: AST.Alternative): boolean {
  return first?.type === 'Assertion' && first.kind === 'start'
}

function isWord(text: string, place: number): boolean {
  return WORD[text.charCodeAt(place)] === true
}
