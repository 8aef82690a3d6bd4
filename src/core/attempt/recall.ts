import type { RunAsked } from '../../contract/storage.ts'
import {
  CALLS,
  effectKey,
  type KnownBy,
  type NamedWait,
  type StoredAsk,
  readEffect,
  readName,
  readQuestionKey,
} from '../../contract/question-keys.ts'

/** A question of an earlier execution. */
interface Recalled extends StoredAsk {
  readonly key: string
  readonly description: string
  /** The continuation of this execution that asked it again. */
  takenBy: number | undefined
}

/** A question of an earlier execution that is known by its name or its user's key, or an effect, which is known by its key. */
interface Named {
  readonly key: string
  readonly kind: string
  readonly description: string
  isTaken: boolean
}

/** Why a question cannot be recalled: another call was made at its place or under its name, or several fit alike. */
export interface RecallMismatch {
  readonly asked: string
  /** The key of the question of the earlier execution. */
  readonly key: string
  readonly reason: 'place' | KnownBy | 'ambiguous'
}

/** The name of the error of a run that stands still and is left to the code that it began on: that may take it up. */
export const OTHER_VERSION = 'VersionMismatchError'

/** Equal sleeps are one question: whichever of them comes first, no answer is told apart from another. One key is one sleep. */
const SLEEPS: readonly string[] = ['for', 'until']

/**
 * The unnamed questions that earlier executions of an attempt have asked, for the execution that asks them again. An
 * answer goes to the question it was given for, or to none: see docs/changing-code.md.
 */
export class Recall {
  readonly #byPlace = new Map<string, Recalled[]>()
  readonly #byName = new Map<string, Named[]>()
  /** Asks anew what does not fit, as `runs.continueWith` has decided. */
  readonly #isLenient: boolean

  /** Of the code that earlier executions were of. */
  readonly version: string | undefined
  /** Something was asked without a name that no earlier execution has: only the code of this one knows it. */
  hasNew = false

  /** @param since When this attempt of the policy began. */
  constructor(
    asked: RunAsked,
    {
      policyAttempt,
      version,
      since = 0,
    }: {
      readonly policyAttempt: number
      readonly version?: string | undefined
      readonly since?: number
    },
  ) {
    this.version = version
    this.#isLenient = version === undefined
    for (const { key, tags, createdAt } of asked.tokens) {
      const effect = readEffect(key?.value)
      if (effect !== undefined)
        this.#addNamed(
          { by: 'name', name: effect },
          {
            key: effectKey(effect),
            kind: 'once',
            description: describe('once', [], createdAt),
            // That of an earlier attempt has a result for this one, which need not ask for it.
            isTaken: createdAt < since,
          },
        )
      else this.#add(policyAttempt, key?.value, (kind) => describe(kind, tags, createdAt))
    }
    for (const { key, taskId, createdAt } of asked.runs)
      this.#add(policyAttempt, key?.value, () =>
        describe(`triggerAndWait of task "${taskId}"`, [], createdAt),
      )
  }

  /** The key of the wait with a name, or with a key of its user's, in an earlier execution. It is that of one kind of wait. */
  named({ by, name, kind = '' }: NamedWait): string | RecallMismatch | undefined {
    const known = this.#byName.get(`${by} ${name}`) ?? []
    const alike = by === 'key' && SLEEPS.includes(kind) ? SLEEPS : [kind]
    const found = known.find((one) => alike.includes(one.kind))
    if (found !== undefined) {
      found.isTaken = true
      return found.key
    }
    const other = this.#isLenient ? undefined : known.find(({ isTaken }) => !isTaken)
    return other && { asked: other.description, key: other.key, reason: by }
  }

  /** The question without a name that stands at the place of another call, and was not asked again. */
  at(place: string, position: number): RecallMismatch | undefined {
    if (this.#isLenient) return undefined
    const here = this.#byPlace.get(place) ?? []
    const open = here.find((one) => one.takenBy === undefined && one.position === position)
    return open && { asked: open.description, key: open.key, reason: 'place' }
  }

  /** The number of places with questions. */
  get size(): number {
    return this.#byPlace.size
  }

  /** The key of this question in an earlier execution; nothing when none has asked it. */
  find(question: StoredAsk): string | RecallMismatch | undefined {
    const { kind, place, content, continuation, index, position } = question
    const here = this.#byPlace.get(place) ?? []
    const equal = here.filter((one) => one.kind === kind && one.content === content)
    // Of several calls that one piece of code makes at a place, a crash may have kept any.
    const open = equal.length === 0 ? this.at(place, position) : undefined
    if (open !== undefined) return open
    if (!this.#isLenient) {
      const ambiguous = SLEEPS.includes(kind)
        ? undefined
        : equal.find((one) => isShared(one, equal, continuation))
      if (ambiguous !== undefined)
        return { asked: ambiguous.description, key: ambiguous.key, reason: 'ambiguous' }
    }
    const found = equal.find((one) => one.index === index)
    if (found === undefined) this.hasNew = true
    else found.takenBy = continuation
    return found?.key
  }

  #addNamed({ by, name }: NamedWait, named: Named): void {
    const known = `${by} ${name}`
    this.#byName.set(known, [...(this.#byName.get(known) ?? []), named])
  }

  #add(policyAttempt: number, value: string | undefined, description: (kind: string) => string): void {
    const question = readQuestionKey(value)
    const named = readName(value)
    // Without a kind it only tells.
    if (value !== undefined && named?.policyAttempt === policyAttempt && named.kind !== undefined) {
      const { kind } = named
      this.#addNamed(named, { key: value, kind, description: description(kind), isTaken: false })
    }
    if (value === undefined || question?.policyAttempt !== policyAttempt) return
    const { kind, place } = question
    const recalled: Recalled = {
      ...question,
      key: value,
      description: description(kind),
      takenBy: undefined,
    }
    this.#byPlace.set(place, [...(this.#byPlace.get(place) ?? []), recalled])
  }
}

/** Whether several continuations have asked this at one place: the order they come in says nothing about which is which. */
function isShared(one: Recalled, equal: readonly Recalled[], continuation: number): boolean {
  const isSharedBefore = equal.some((other) => other.continuation !== one.continuation)
  return isSharedBefore || (one.takenBy !== undefined && one.takenBy !== continuation)
}

/** A question in the words of the task: `wait.createToken, tags manager, asked at 2030-01-31T12:00:00.000Z`. */
function describe(kind: string, tags: readonly string[], createdAt: number): string {
  const tagged = tags.length === 0 ? '' : `, tags ${tags.join(' ')}`
  return `${CALLS[kind] ?? kind}${tagged}, asked at ${new Date(createdAt).toISOString()}`
}
