import type { KeyRecord, RunRecord, TokenRecord } from '../../contract/records.ts'
import { boundRunId, isRunBinding } from '../../contract/run-binding.ts'
import { readName, readQuestionKey } from '../../contract/question-keys.ts'
import { childQuestion, type InFlightQuestion, tokenQuestion } from '../in-flight/question.ts'
import type { RecordedRun } from './recorded-run.ts'

/** What a question is known by. */
interface Known {
  readonly key?: KeyRecord | undefined
  readonly tags: readonly string[]
}

/** A question of a history. */
interface Entry<Record extends Known> {
  readonly record: Record
  readonly parts: QuestionParts | undefined
  isTaken: boolean
}

/** What the key of a question of the run's own says, without what depends on the order of answers. */
interface QuestionParts {
  readonly policyAttempt: number
  /** The kind and the name, or the kind, the place and the content. */
  readonly identity: string
  readonly place: string | undefined
  readonly kind: string | undefined
}

/** The questions of a history, as the run asks them again. Each is found once. */
export class RecordedQuestions {
  readonly #runId: string
  /** Contents may differ: what is not found otherwise is the next one of its kind. */
  readonly #isLenient: boolean
  readonly #tokens: readonly Entry<TokenRecord>[]
  readonly #children: readonly Entry<RunRecord>[]

  constructor({ record, tokens, children }: RecordedRun, { isLenient }: { readonly isLenient: boolean }) {
    this.#runId = record.id
    this.#isLenient = isLenient
    const entry = <Record extends Known>(one: Record): Entry<Record> => ({
      record: one,
      parts: questionParts(this.#runId, one.key),
      isTaken: false,
    })
    this.#tokens = tokens.filter(({ runId }) => runId === record.id).map(entry)
    this.#children = children.map(entry)
  }

  /** The token of the history for the one that is to be made. */
  takeToken(asked: TokenRecord): TokenRecord | undefined {
    const ofKind = this.#tokens.filter(({ record }) => record.kind === asked.kind)
    return this.#take(ofKind, asked, ({ tags }) => String(tags) === String(asked.tags))
  }

  /** The child of the history for the one that is to be triggered. */
  takeChild(asked: RunRecord): RunRecord | undefined {
    const ofTask = this.#children.filter(({ record }) => record.taskId === asked.taskId)
    return this.#take(ofTask, asked, () => true)
  }

  /** The child of the history that the place of a binding is bound to. */
  takeBound(asked: TokenRecord): RunRecord | undefined {
    const token = this.takeToken(asked)
    const child = token && this.#boundTo(token)
    if (child !== undefined) child.isTaken = true
    return child?.record
  }

  /** How many were asked again. */
  get taken(): number {
    return this.#all().filter(({ isTaken }) => isTaken).length
  }

  /** What the history has at the place of a question that it does not have, or else the first that was not asked yet. */
  insteadOf(key: KeyRecord | undefined): InFlightQuestion | undefined {
    const parts = questionParts(this.#runId, key)
    const here = this.#all().find(
      (one) => !one.isTaken && parts?.place !== undefined && one.parts?.place === parts.place,
    )
    return here === undefined ? this.left(parts?.policyAttempt)[0] : this.#questionOf(here.record)
  }

  /** The questions of an attempt of the policy, or of users' keys, that were not asked again, oldest first. */
  left(policyAttempt: number | undefined): readonly InFlightQuestion[] {
    return this.#all()
      .filter(({ isTaken, parts, record }) => {
        if (isTaken || parts?.policyAttempt !== policyAttempt) return false
        return !this.#effects.some((effect) => isDuring(record, effect))
      })
      .sort((one, other) => one.record.createdAt - other.record.createdAt)
      .map(({ record }) => this.#questionOf(record))
  }

  #questionOf(record: TokenRecord | RunRecord): InFlightQuestion {
    if ('taskId' in record) return childQuestion(record)
    const child = isRunBinding(record) ? this.#boundTo(record)?.record : undefined
    return child === undefined ? tokenQuestion(record) : { ...tokenQuestion(record), taskId: child.taskId }
  }

  #boundTo(token: TokenRecord): Entry<RunRecord> | undefined {
    return this.#children.find(({ record }) => record.id === boundRunId(token))
  }

  #all(): Entry<TokenRecord | RunRecord>[] {
    return [...this.#tokens.filter(({ record }) => record.kind !== 'ONCE'), ...this.#children]
  }

  /** The waits of an effect are not asked again when its result is known. */
  get #effects(): readonly TokenRecord[] {
    return this.#tokens.map(({ record }) => record).filter(({ kind }) => kind === 'ONCE')
  }

  #take<Record extends Known>(
    entries: readonly Entry<Record>[],
    asked: Known,
    isAlike: (record: Record) => boolean,
  ): Record | undefined {
    const open = entries.filter(({ isTaken }) => !isTaken)
    const parts = questionParts(this.#runId, asked.key)
    const found =
      open.find(({ record: { key } }) => isSameKey(key, asked.key)) ??
      open.find((one) => parts !== undefined && one.parts?.identity === parts.identity) ??
      (this.#isLenient ? this.#nextAlike(open, parts, isAlike) : undefined)
    if (found !== undefined) found.isTaken = true
    return found?.record
  }

  #nextAlike<Record extends Known>(
    open: readonly Entry<Record>[],
    parts: QuestionParts | undefined,
    isAlike: (record: Record) => boolean,
  ): Entry<Record> | undefined {
    const ofAttempt = open.filter((one) => one.parts?.policyAttempt === parts?.policyAttempt)
    const ofKind = ofAttempt.filter((one) => one.parts?.kind === parts?.kind)
    return ofKind.find(({ record }) => isAlike(record)) ?? ofKind[0]
  }
}

/** What the key of a question of a run says; nothing if it is a key of users, which says nothing but itself. */
export function questionParts(runId: string, key: KeyRecord | undefined): QuestionParts | undefined {
  if (key === undefined || key.scope !== runId) return undefined
  const named = readName(key.value)
  if (named !== undefined) {
    const { policyAttempt, name, kind } = named
    return { policyAttempt, identity: `${policyAttempt} ${kind} ${name}`, place: undefined, kind }
  }
  const question = readQuestionKey(key.value)
  if (question === undefined) return undefined
  const { policyAttempt, kind, place, content, index, position } = question
  const identity = [policyAttempt, kind, place, content, index, position].join('/')
  return { policyAttempt, identity, place, kind }
}

function isSameKey(one: KeyRecord | undefined, other: KeyRecord | undefined): boolean {
  return one !== undefined && one.scope === other?.scope && one.value === other.value
}

function isDuring({ createdAt }: { readonly createdAt: number }, effect: TokenRecord): boolean {
  return createdAt >= effect.createdAt && createdAt < (effect.completedAt ?? Infinity)
}
