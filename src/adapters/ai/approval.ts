import type { UIMessage } from 'ai'
import type { DefinedQuestion } from '../../api/question-definition.ts'
import type { WaitResult } from '../../api/token.ts'
import { once, wait } from '../../core/ambient/ambient.ts'
import { question } from '../../core/ambient/question.ts'
import { approvalKey, approvalTag, KEPT } from './turn.ts'

/** How the question about a call of a tool is asked. */
export interface ApprovalOptions<Input> {
  /**
   * What is asked, for people.
   *
   * @default the name of the tool and its input
   */
  readonly message?: (input: Input) => string
  /**
   * Who may answer, as of a question (docs/ask-a-person.md).
   *
   * @default anyone who can reach it
   */
  readonly approvers?: readonly string[] | ((input: Input) => readonly string[])
  /**
   * Without an answer by then the call is denied.
   *
   * @default `'1d'`
   */
  readonly timeout?: string
}

/** What a person is told of a call. */
export interface ToolCall {
  readonly tool: string
  readonly input: unknown
  /** The part of the answer in which the call was made: the next one follows the approval. */
  readonly part: number
  readonly message: string
}

/** The answer, whichever way it comes. */
export interface ApprovalAnswer {
  readonly approved: boolean
  readonly reason?: string
}

/** A call that waits for its approval. */
export interface AskedCall {
  readonly approvalId: string
  readonly tokenId: string
}

/** How long the reason of an answer may be. */
export const MOST_REASON = 2_000

/** Its schema says that an answer is an `ApprovalAnswer`. */
const approval = /* @__PURE__ */ question({
  id: 'chat-approval',
  message: ({ message }: ToolCall) => message,
  schema: {
    type: 'object',
    properties: { approved: { type: 'boolean' }, reason: { type: 'string', maxLength: MOST_REASON } },
    required: ['approved'],
  },
  onTimeoutText: 'The call is denied.',
}) as DefinedQuestion<ToolCall, ApprovalAnswer>
const MOST_SHOWN = 500
const MOST_INPUT = 100_000

/** A tool of the AI SDK, as far as it is put under approval. */
interface AskableTool {
  readonly needsApproval?: unknown
  readonly execute?: unknown
}

type Executed<Tool> = Tool extends { readonly execute?: infer Execute } ? NonNullable<Execute> : never
type InputOf<Tool> =
  Executed<Tool> extends (input: infer Input, ...rest: never[]) => unknown ? Input : unknown
type NeedsApproval = (input: unknown, call: { readonly toolCallId: string }) => unknown
type Execute = NeedsApproval

/** Puts a tool under approval. An approved call is made once, however often the run is executed. */
export type AskForTool = <Tool extends AskableTool>(
  tool: Tool,
  options?: ApprovalOptions<InputOf<Tool>>,
) => Tool

/** The calls that one part of an answer asks about. */
export class Approvals {
  readonly #runId: string
  readonly #part: number
  /** By the id of the call. */
  readonly #options = new Map<string, ApprovalOptions<unknown>>()

  constructor(runId: string, part: number) {
    this.#runId = runId
    this.#part = part
  }

  readonly ask: AskForTool = (tool, options = {}) => {
    const { needsApproval = true } = tool
    const execute = tool.execute as Execute | undefined
    const isNeeded: NeedsApproval = (input, call) => {
      this.#options.set(call.toolCallId, options as ApprovalOptions<unknown>)
      return typeof needsApproval === 'function'
        ? (needsApproval as NeedsApproval)(input, call)
        : needsApproval
    }
    const made: Execute = (input, call) =>
      once(`tool ${call.toolCallId}`, () => lastOf(execute?.(input, call)))
    return { ...tool, needsApproval: isNeeded, ...(execute && { execute: made }) }
  }

  /** Makes the token of a call. */
  async create(
    approvalId: string,
    call: { toolCallId: string; toolName: string; input: unknown },
  ): Promise<AskedCall> {
    const { toolCallId, toolName: tool, input } = call
    const { message, approvers, timeout = '1d' } = this.#options.get(toolCallId) ?? {}
    const listed = typeof approvers === 'function' ? approvers(input) : approvers
    const text = JSON.stringify(input)
    const asked: ToolCall = {
      tool,
      input: text.length > MOST_INPUT ? shortened(text) : input,
      part: this.#part,
      message: message?.(input) ?? `Run the tool "${tool}" with ${shortened(text)}?`,
    }
    const { id } = await approval.create(asked, {
      ...(listed && { approvers: listed }),
      timeout,
      tags: approvalTag(this.#runId),
      idempotencyKey: approvalKey(this.#runId, approvalId),
      idempotencyKeyTTL: KEPT,
    })
    return { approvalId, tokenId: id }
  }
}

/** Waits for the answers to calls, by the ids of their approvals. */
export async function answersTo(
  calls: readonly AskedCall[],
): Promise<ReadonlyMap<string, WaitResult<ApprovalAnswer>>> {
  const answers = calls.map(
    async ({ approvalId, tokenId }) => [approvalId, await approval.wait(tokenId)] as const,
  )
  return new Map(await Promise.all(answers))
}

/** Ends the questions of a run that wait and are none of these. */
export async function withdrawOthers(
  runId: string,
  calls: readonly AskedCall[],
  reason: string,
): Promise<void> {
  for await (const { id } of wait.listTokens({ tags: approvalTag(runId), status: 'WAITING' }))
    if (!calls.some(({ tokenId }) => tokenId === id)) await approval.withdraw(id, { reason })
}

/** A message whose calls have been answered. */
export function withAnswers(
  message: UIMessage,
  answers: ReadonlyMap<string, WaitResult<ApprovalAnswer>>,
): UIMessage {
  const parts = message.parts.map((part) => {
    if (!('approval' in part) || part.state !== 'approval-requested') return part
    const answer = answers.get(part.approval.id)
    const given = answer?.ok ? answer.output : { approved: false, reason: 'No answer came in time.' }
    const { approved, reason } = given
    return {
      ...part,
      state: 'approval-responded',
      approval: { ...part.approval, approved, ...(reason !== undefined && { reason }) },
    }
  })
  // A part that was asked about becomes one that was answered.
  return { ...message, parts: parts as UIMessage['parts'] }
}

function shortened(text: string): string {
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text
}

/** What a tool results in: the last one, if it has several results. */
async function lastOf(result: unknown): Promise<unknown> {
  const awaited = await result
  if (typeof awaited !== 'object' || awaited === null || !(Symbol.asyncIterator in awaited)) return awaited
  let last: unknown
  for await (const output of awaited as AsyncIterable<unknown>) last = output
  return last
}
