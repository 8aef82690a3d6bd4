import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import { getFirstConsumedChar, getFirstConsumedCharAfter, toCache } from 'regexp-ast-analysis'
import { analyse } from 'scslre'

const MOST_CHARACTERS = 1_000
/** A repetition of at most so many times cannot make a pattern run away by itself. */
const FEW = 10
/** One whose steps grow faster is of use for a dozen characters only. */
const MOST_DEGREE = 3
/** Repetitions of a few times can read a text in so many ways, from its start and from each place: more take too long. */
const MOST_WAYS = 2_000_000
const MOST_WAYS_OF_PLACE = 2_000
/** The analysis takes too long for more repetitions of many times. */
const MOST_REPETITIONS = 32
const MOST_READ = 200
const FLAGS = 'u'

/** A `pattern` of a JSON Schema, read. */
export interface ReadPattern {
  readonly expression: RegExp
  /** With which power of the length of a text its steps can grow. */
  readonly degree: number
}

/** The newest: an answer is checked by patterns that were read when its token was made, or for the answer before. */
const known = new Map<string, ReadPattern>()

/**
 * Reads a `pattern`. One that can run away is refused, as it would take years for forty characters: loops in which one text can
 * be read in two ways.
 *
 * @throws {Error} It is no regular expression, too long, or can run away; the message says which.
 */
export function readPattern(pattern: string): ReadPattern {
  const read = known.get(pattern) ?? readAnew(pattern)
  known.delete(pattern)
  known.set(pattern, read)
  const [oldest] = known.keys()
  if (known.size > MOST_READ && oldest !== undefined) known.delete(oldest)
  return read
}

function readAnew(pattern: string): ReadPattern {
  if (pattern.length > MOST_CHARACTERS) throw new Error('is a pattern of more than 1,000 characters')
  let expression: RegExp
  try {
    expression = new RegExp(pattern, FLAGS)
  } catch (error) {
    throw new Error(`is no pattern: ${(error as Error).message}`, { cause: error })
  }
  const degree = degreeOf(pattern)
  if (degree === undefined || degree > MOST_DEGREE)
    throw new Error(`is a pattern that can run away: ${pattern}`)
  return { expression, degree }
}

/** With which power of a text's length its steps can grow; `undefined`: exponentially, or too hard to tell. */
function degreeOf(pattern: string): number | undefined {
  try {
    const tree = parsed(pattern)
    if (repetitionsOf(tree) > MOST_REPETITIONS) return undefined
    const source = writtenOut(tree)
    const written = parsed(source)
    const isAnchored = pattern.startsWith('^')
    const most = isAnchored ? MOST_WAYS : MOST_WAYS_OF_PLACE
    if (waysOf(tree) > most || hasLikeAlternatives(written)) return undefined
    const { reports } = analyse(new RegExp(source, FLAGS))
    if (reports.some(({ exponential }) => exponential)) return undefined
    // The analysis does not see of a group that it is read anew from each place.
    const least = !isAnchored && manyOf(written).some(({ element }) => 'alternatives' in element) ? 2 : 1
    return Math.max(least, 1 + reports.length)
  } catch {
    return undefined
  }
}

/** The pattern as the analysis takes it: many times are without an end, and a few times of what is repeated many times are as many parts. */
function writtenOut(node: AST.Node): string {
  if (node.type === 'Alternative') return node.elements.map(writtenOut).join('')
  if (node.type === 'Quantifier') return repeatedPart(node)
  if (!('alternatives' in node)) {
    // Its number is another one once groups are written out.
    if (node.type === 'Backreference') throw new Error('is a reference to a group')
    return node.raw
  }
  const [first] = node.alternatives
  const start = node.raw.slice(0, (first?.start ?? node.start) - node.start)
  const alternatives = node.alternatives.map((each) => writtenOut(each as AST.Node)).join('|')
  return start + alternatives + (node.type === 'Pattern' ? '' : ')')
}

function repeatedPart({ element, min, max, greedy }: AST.Quantifier): string {
  const part = writtenOut(element)
  const lazy = greedy ? '' : '?'
  if (max >= FEW) return `${part}{${String(Math.min(min, FEW))},}${lazy}`
  if (manyOf(element).length === 0) return `${part}{${String(min)},${String(max)}}${lazy}`
  const more = max - min
  return part.repeat(min) + `(?:${part}`.repeat(more) + `)?${lazy}`.repeat(more)
}

/** How many repetitions of many times there are, when it is written out. */
function repetitionsOf(node: AST.Node): number {
  if (node.type === 'Quantifier') {
    const inside = repetitionsOf(node.element)
    return node.max >= FEW ? 1 + inside : inside * node.max
  }
  const parts = node.type === 'Alternative' ? node.elements : 'alternatives' in node ? node.alternatives : []
  return parts.reduce((count, part) => count + repetitionsOf(part as AST.Node), 0)
}

function manyOf(node: AST.Node): AST.Quantifier[] {
  return quantifiersOf(node).filter(({ max }) => max >= FEW)
}

/** Whether something is repeated of which two alternatives can begin with one character, or a part can end before it or after it: `(a|aa)+`, `(a{1,2}a)+`. */
function hasLikeAlternatives(pattern: AST.Pattern): boolean {
  const cache = toCache({ unicode: true })
  return quantifiersOf(pattern).some(({ max, element }) => {
    if (max < FEW) return false
    let isLike = false
    const look = ({ alternatives }: { readonly alternatives: readonly AST.Alternative[] }): void => {
      const firsts = alternatives.map((each) => getFirstConsumedChar(each, 'ltr', cache))
      isLike ||= firsts.some(
        (first, place) =>
          (first.empty && alternatives.length > 1) ||
          firsts.slice(place + 1).some((other) => !first.char.isDisjointWith(other.char)),
      )
    }
    const end = (quantifier: AST.Quantifier): void => {
      // The analysis looks at those of many times.
      if (quantifier.max >= FEW || quantifier.min === quantifier.max) return
      const first = getFirstConsumedChar(quantifier.element, 'ltr', cache)
      isLike ||= !first.char.isDisjointWith(getFirstConsumedCharAfter(quantifier, 'ltr', cache).char)
    }
    visitRegExpAST(element, {
      onGroupEnter: look,
      onCapturingGroupEnter: look,
      onQuantifierEnter: end,
    })
    return isLike
  })
}

/** At most so many ways to read a text, without those of repetitions of many times, which the analysis looks at. */
function waysOf(node: AST.Node): number {
  switch (node.type) {
    case 'Alternative':
      return node.elements.reduce((ways, element) => ways * waysOf(element), 1)
    case 'Quantifier': {
      const inside = waysOf(node.element)
      if (node.max >= FEW) return inside
      const counts = Array.from({ length: node.max - node.min + 1 }, (_, at) => node.min + at)
      return counts.reduce((ways, count) => ways + inside ** count, 0)
    }
    default:
      return 'alternatives' in node
        ? node.alternatives.reduce((ways, alternative) => ways + waysOf(alternative as AST.Node), 0) || 1
        : 1
  }
}

function quantifiersOf(node: AST.Node): AST.Quantifier[] {
  const found: AST.Quantifier[] = []
  visitRegExpAST(node, { onQuantifierEnter: (quantifier) => void found.push(quantifier) })
  return found
}

function parsed(source: string): AST.Pattern {
  return new RegExpParser().parsePattern(source, 0, source.length, { unicode: true })
}
