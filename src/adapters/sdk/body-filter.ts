import { requireObject, show } from '../../primitives/require.ts'
import type { Untyped } from './untyped.ts'

type Value = string | number | boolean

/** What a value of a body has to be like. */
type ContentFilter =
  | { $endsWith: string }
  | { $startsWith: string }
  | { $ignoreCaseEquals: string }
  | { $exists: boolean }
  | { $isNull: boolean }
  | { $anythingBut: Value | Value[] }
  | { $gt: number }
  | { $lt: number }
  | { $gte: number }
  | { $lte: number }
  | { $between: [number, number] }
  | { $includes: Value }
  | { $not: Value }

/**
 * Which bodies of a response are meant: by each key one of several values, or filters that all fit, or a filter for what is
 * below. Of a list below a filter one item has to fit.
 */
export interface BodyFilter {
  [key: string]: string[] | number[] | boolean[] | ContentFilter[] | BodyFilter
}

type Fits = (value: unknown, wanted: Untyped) => boolean

const numbers =
  (fits: (value: number, wanted: Untyped) => boolean): Fits =>
  (value, wanted) =>
    typeof value === 'number' && fits(value, wanted)

const texts =
  (fits: (value: string, wanted: string) => boolean): Fits =>
  (value, wanted: string) =>
    typeof value === 'string' && fits(value, wanted)

/** In this order: of several in one object the first one counts, as in the hosted service. */
const CONTENT: Readonly<Record<string, Fits>> = {
  $endsWith: texts((value, wanted) => value.endsWith(wanted)),
  $startsWith: texts((value, wanted) => value.startsWith(wanted)),
  $anythingBut: (value, wanted: unknown) => ![wanted].flat().includes(value),
  $exists: (value, wanted: boolean) => (value !== undefined) === wanted,
  $gt: numbers((value, wanted: number) => value > wanted),
  $lt: numbers((value, wanted: number) => value < wanted),
  $gte: numbers((value, wanted: number) => value >= wanted),
  $lte: numbers((value, wanted: number) => value <= wanted),
  $between: numbers((value, [from, to]: [number, number]) => value >= from && value <= to),
  $includes: (value, wanted: unknown) => Array.isArray(value) && value.includes(wanted),
  $ignoreCaseEquals: texts(
    (value, wanted) => value.localeCompare(wanted, undefined, { sensitivity: 'accent' }) === 0,
  ),
  $isNull: (value, wanted: boolean) => (value === null) === wanted,
  $not: (value, wanted: unknown) =>
    Array.isArray(value)
      ? !value.includes(wanted)
      : ['number', 'boolean', 'string'].includes(typeof value) && value !== wanted,
}

/** Whether a body that was read as JSON is meant. */
export function bodyFits(body: unknown, filter: BodyFilter): boolean {
  const entries = Object.entries(filter)
  if (body === undefined || body === null) return entries.length === 0
  // A key of a text or a number has no value.
  return entries.every(([key, wanted]) => valueFits((body as Readonly<Record<string, unknown>>)[key], wanted))
}

function valueFits(value: unknown, wanted: BodyFilter[string]): boolean {
  if (!Array.isArray(wanted))
    return Array.isArray(value) ? value.some((item) => bodyFits(item, wanted)) : bodyFits(value, wanted)
  const filters: readonly unknown[] = wanted
  const [first] = filters
  if (filters.length === 0) return true
  if (typeof first !== 'object' || first === null) return filters.includes(value)
  return filters.every((one) => {
    const [[name, fits]] = contentOf(one) as [[string, Fits]]
    return fits(value, (one as Readonly<Record<string, unknown>>)[name])
  })
}

/** The filters in an object, the one that counts first. */
function contentOf(filter: unknown): readonly [string, Fits][] {
  return Object.entries(CONTENT).filter(([name]) => Object.hasOwn(filter as object, name))
}

/** @throws TypeError for a filter that there is not, which would fit every body. */
export function requireBodyFilter(filter: unknown, what: string): void {
  requireObject(filter, what)
  for (const [key, wanted] of Object.entries(filter)) {
    if (!Array.isArray(wanted)) requireBodyFilter(wanted, `${what}.${key}`)
    else requireAlternatives(wanted, `${what}.${key}`)
  }
}

function requireAlternatives(list: readonly unknown[], what: string): void {
  const isContent = typeof list[0] === 'object'
  for (const item of list) {
    if (isContent) {
      requireObject(item, what)
      if (contentOf(item).length === Object.keys(item).length && Object.keys(item).length > 0) continue
    } else if (typeof item === typeof list[0] && ['string', 'number', 'boolean'].includes(typeof item))
      continue
    throw new TypeError(
      `Cannot use ${show(item)} in ${what}: give texts, numbers or booleans, or objects with one of ${Object.keys(CONTENT).join(', ')}`,
    )
  }
}
