import { AsyncLocalStorage } from 'node:async_hooks'

interface Entry {
  readonly of: object
  readonly value: unknown
  readonly outer: Entry | undefined
}

/** All values in one: below Node 24 each `AsyncLocalStorage` costs every promise of the process, even where it has no value. */
const entries = new AsyncLocalStorage<Entry | undefined>()

/** A value that some code has, and all that it starts. */
export class ContextValue<Value> {
  run<Answer>(value: Value, code: () => Answer): Answer {
    return entries.run({ of: this, value, outer: this.#others(entries.getStore()) }, code)
  }

  get(): Value | undefined {
    for (let entry = entries.getStore(); entry !== undefined; entry = entry.outer)
      if (entry.of === this) return entry.value as Value
    return undefined
  }

  /** The outer values without an older one of this, so that code that goes on and on keeps one. */
  #others(entry: Entry | undefined): Entry | undefined {
    if (entry === undefined) return undefined
    const { of, value, outer } = entry
    if (of === this) return outer
    const others = this.#others(outer)
    return others === outer ? entry : { of, value, outer: others }
  }
}
