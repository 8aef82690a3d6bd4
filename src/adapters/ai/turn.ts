import type { UIMessage } from 'ai'
import { createHash } from 'node:crypto'
import { WaitpointError } from '../../api/errors.ts'
import type { Answerer } from '../../api/question.ts'
import type { CursorPagePromise } from '../../api/cursor-page.ts'
import type { RunStatus } from '../../contract/records.ts'
import type { ListRunsParams, Run, RunsNamespace, TasksNamespace } from '../../api/run.ts'

/** What a page asks for: an answer to a new message, in place of an earlier one if it is named, or another answer. */
export interface TurnRequest {
  readonly trigger: 'submit-message' | 'regenerate-message'
  /** From this message on the history is left out. */
  readonly messageId?: string
  readonly message?: UIMessage
}

/** The payload of a run of a chat: one message, and the answer to it. */
export interface Turn extends TurnRequest {
  readonly chat: string
  readonly user: Answerer
  /** The turns of a chat are taken one after the other, from 1. */
  readonly number: number
}

/** The output of such a run. */
export interface TurnOutput {
  readonly message: UIMessage
}

/** Longer than the run of a turn is kept. */
export const KEPT = '3650d'
const UNDER_WAY: readonly RunStatus[] = ['DELAYED', 'QUEUED', 'EXECUTING', 'WAITING', 'PENDING_VERSION']

/** The tag of the turns of a chat. The chats of a user have names of their own: another user never meets them. */
function chatTag({ id }: Answerer, chat: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([id, chat]))
    .digest('base64url')
  return `chat:${digest}`
}

/** The key of one turn: two requests that come at once cannot take one place. */
export function turnKey(
  task: string,
  { user, chat, number }: Turn,
): {
  readonly idempotencyKey: string
  readonly idempotencyKeyTTL: string
} {
  return { idempotencyKey: `${task} ${chatTag(user, chat)} ${number}`, idempotencyKeyTTL: KEPT }
}

/** The token that stops a turn: the run and the button make it under one key. */
export function stopToken(runId: string): {
  readonly idempotencyKey: string
  readonly idempotencyKeyTTL: string
  readonly timeout: string
  readonly tags: string
} {
  return { idempotencyKey: `stop ${runId}`, idempotencyKeyTTL: KEPT, timeout: KEPT, tags: 'chat-stop' }
}

/** The tag of the approvals of a turn. */
export function approvalTag(runId: string): string {
  return `chat-approval:${runId}`
}

/** The key of the token of an approval. */
export function approvalKey(runId: string, approvalId: string): string {
  return `approval ${runId} ${approvalId}`
}

/** The stream of one part of an answer. An approval ends a part, and the next one follows its answer. */
export function partKey(part: number): string {
  return `part-${part}`
}

/** As much of an engine as turns need. */
interface KeepsTurns {
  readonly runs: Pick<RunsNamespace, 'list' | 'retrieve'>
  readonly tasks: Pick<TasksNamespace, 'trigger'>
}

/** A chat of one user: its turns, in storage. */
export class ChatTurns {
  readonly #engine: KeepsTurns
  readonly #task: string
  readonly #tag: string

  constructor(engine: KeepsTurns, task: string, { user, chat }: Pick<Turn, 'user' | 'chat'>) {
    this.#engine = engine
    this.#task = task
    this.#tag = chatTag(user, chat)
  }

  /** All that are kept, the oldest first. */
  async all(filter: { readonly status?: readonly RunStatus[] } = {}): Promise<readonly Run[]> {
    const runs: Run[] = []
    for await (const run of this.#list({ ...filter, limit: 100 })) runs.push(run)
    return runs.sort((one, other) => turnOf(one).number - turnOf(other).number)
  }

  /** Those that have not ended, the oldest first. */
  underWay(): Promise<readonly Run[]> {
    return this.all({ status: UNDER_WAY })
  }

  /** The latest one, if there is any. */
  async latest(): Promise<readonly Run[]> {
    const latest = (await this.#list({ limit: 20 })).data
    return [...latest].sort((one, other) => turnOf(other).number - turnOf(one).number).slice(0, 1)
  }

  /** The turn with this id, if it is one of this chat. */
  async find(id: string): Promise<Run | undefined> {
    const run = await this.#engine.runs.retrieve(id).catch((error: unknown) => {
      if (error instanceof WaitpointError && error.code === 'ERR_RUN_NOT_FOUND') return undefined
      throw error
    })
    return run?.taskIdentifier === this.#task && run.tags.includes(this.#tag) ? run : undefined
  }

  /** Begins one after all others. A message that was sent before begins none: its answer is that of its turn. */
  async begin(turn: Omit<Turn, 'number'>): Promise<Run> {
    const isSent = (run: Run): boolean => isSubmitted(turn) && isOf(turnOf(run), turn.message)
    const latest = (await this.#list({ limit: 20 })).data
    const sent = latest.find(isSent)
    if (sent !== undefined) return sent
    for (let number = Math.max(0, ...latest.map((run) => turnOf(run).number)) + 1; ; number += 1) {
      const payload: Turn = { ...turn, number }
      const options = { ...turnKey(this.#task, payload), tags: this.#tag }
      const { id, isCached } = await this.#engine.tasks.trigger(this.#task, payload, options)
      const run = await this.#engine.runs.retrieve(id)
      if (!isCached || isSent(run)) return run
    }
  }

  #list(filter: ListRunsParams): CursorPagePromise<Run> {
    return this.#engine.runs.list({ ...filter, tags: this.#tag, taskIdentifier: this.#task })
  }
}

/** What the run of a turn was given. */
function turnOf({ payload }: Run): Turn {
  return payload as Turn
}

/** A new message. The same one is sent again if its answer was lost on the way. */
function isSubmitted({ trigger, messageId }: TurnRequest): boolean {
  return trigger === 'submit-message' && messageId === undefined
}

function isOf(turn: Turn, message: UIMessage | undefined): boolean {
  return isSubmitted(turn) && turn.message?.id === message?.id
}
