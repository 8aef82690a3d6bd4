import type { MemberType } from '../../hosted/members.ts'
import { defined } from '../../primitives/defined.ts'
import { unreadable } from '../connection/api-error.ts'

type Members<Types extends Readonly<Record<string, MemberType>>> = {
  readonly [Name in keyof Types]?: NonNullable<ReturnType<WireRecord[Types[Name]]>>
}

/**
 * An object of an answer. A member that is missing, null, or of another type reads as `undefined`, because services add
 * and drop members over time. Only indispensable members are required.
 */
export class WireRecord {
  readonly #fields: Readonly<Record<string, unknown>>
  readonly #what: string

  constructor(value: unknown, what: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw unreadable(what, { body: value })
    this.#fields = value as Readonly<Record<string, unknown>>
    this.#what = what
  }

  value(name: string): unknown {
    return this.#fields[name] ?? undefined
  }

  /** A value given by a user; it may be null. */
  json(name: string): unknown {
    return this.#fields[name]
  }

  text(name: string): string | undefined {
    const value = this.value(name)
    return typeof value === 'string' ? value : undefined
  }

  /** @throws ApiError `ERR_API_UNREADABLE` if the text is missing. */
  requiredText(name: string): string {
    return this.#required(name, this.text(name))
  }

  number(name: string): number | undefined {
    const value = this.value(name)
    return typeof value === 'number' ? value : undefined
  }

  flag(name: string): boolean | undefined {
    const value = this.value(name)
    return typeof value === 'boolean' ? value : undefined
  }

  /** @throws ApiError `ERR_API_UNREADABLE` if the flag is missing. */
  requiredFlag(name: string): boolean {
    return this.#required(name, this.flag(name))
  }

  date(name: string): Date | undefined {
    return dateOf(this.value(name))
  }

  /** @throws ApiError `ERR_API_UNREADABLE` if the date is missing. */
  requiredDate(name: string): Date {
    return this.#required(name, this.date(name))
  }

  /** Those of some members that it has. */
  members<Types extends Readonly<Record<string, MemberType>>>(types: Types): Members<Types> {
    const found: Record<string, unknown> = {}
    for (const name in types) found[name] = this[types[name] as MemberType](name)
    // Each is read by the method of its type.
    return defined(found) as Members<Types>
  }

  texts(name: string): readonly string[] {
    const value = this.value(name)
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
  }

  /** The objects of a list. */
  records(name: string): readonly WireRecord[] {
    const value = this.value(name)
    return Array.isArray(value) ? value.map((item) => new WireRecord(item, this.#what)) : []
  }

  /** A member object as a record; an empty record if it is missing. */
  record(name: string): WireRecord {
    return new WireRecord(this.object(name) ?? {}, this.#what)
  }

  /** A member object, unwrapped. */
  object(name: string): Readonly<Record<string, unknown>> | undefined {
    const value = this.value(name)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined
  }

  #required<T>(name: string, member: T | undefined): T {
    if (member === undefined) throw unreadable(`${this.#what}: it has no "${name}"`, { body: this.#fields })
    return member
  }
}

/** An instant from epoch milliseconds or ISO 8601; without a zone it is UTC. */
function dateOf(value: unknown): Date | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const hasZone = typeof value === 'number' || /(?:Z|[+-]\d\d:?\d\d)$/i.test(value)
  const date = new Date(hasZone ? value : `${value.replace(' ', 'T')}Z`)
  return Number.isNaN(date.getTime()) ? undefined : date
}
