import { convertToModelMessages, type ModelMessage, type UIMessage, type UIMessageChunk } from 'ai'
import type { Answerer } from '../../api/question.ts'
import type { RetryOptions } from '../../api/retry.ts'
import type { RunTools, Task } from '../../api/task.ts'
import { once, wait } from '../../core/ambient/ambient.ts'
import { task } from '../../core/ambient/define-task.ts'
import type { TaskQueueOptions } from '../../api/queue.ts'
import {
  answersTo,
  Approvals,
  type AskForTool,
  type AskedCall,
  withAnswers,
  withdrawOthers,
} from './approval.ts'
import { messagesFor, turnMessages } from './history.ts'
import { type ChatAnswer, writePart, type WrittenPart } from './part.ts'
import { stopToken, type Turn, turnKey, type TurnOutput, ChatTurns } from './turn.ts'

/** A chat, as the functions of the application that keep its messages are told of it. */
export interface ChatReference {
  readonly chat: string
  readonly user: Answerer
}

/** What `run` of a chat is called with: one turn. */
export interface ChatTools extends RunTools, ChatReference {
  /** The history, the new message at its end, for a model. */
  readonly messages: ModelMessage[]
  /** The history as a page has it. */
  readonly uiMessages: readonly UIMessage[]
  /** Aborted also by the button that stops the answer. */
  readonly signal: AbortSignal
  /** Puts a tool under approval. */
  readonly ask: AskForTool
  /** Runs an effect once, however often the turn is executed. */
  readonly once: <Result>(key: string, effect: () => Result | Promise<Result>) => Promise<Result>
}

/** Options of {@link chatTask}. */
export interface ChatTaskOptions {
  /** The name of the task. Stored turns refer to it, so it stays the same for as long as they live. */
  readonly id: string
  /** Answers a message: called for each turn, and again after each approval. */
  readonly run: (tools: ChatTools) => ChatAnswer | Promise<ChatAnswer>
  /**
   * The messages of a chat that are kept by the application.
   *
   * @default those of the turns that storage keeps
   */
  readonly loadMessages?: (chat: ChatReference) => readonly UIMessage[] | Promise<readonly UIMessage[]>
  /**
   * Keeps all messages of a chat, after each turn. Called once for a turn, as an effect of `once`.
   *
   * @default none
   */
  readonly saveMessages?: (chat: ChatReference & { readonly messages: readonly UIMessage[] }) => unknown
  /**
   * When and how often an answer is tried again after an error.
   *
   * @default none: one attempt
   */
  readonly retry?: RetryOptions
  /**
   * The queue of the turns, and how many execute at once.
   *
   * @default a queue of its own, no limit
   */
  readonly queue?: TaskQueueOptions
}

/** A task that answers the messages of a chat, one turn after the other. */
export type ChatTask = Task<Turn, TurnOutput | null> & {
  readonly id: string
  /** The messages of a chat as a page shows them: those of turns that are under way too. */
  readonly turnMessages: (turns: ChatTurns, chat: ChatReference) => Promise<readonly UIMessage[]>
}

type PartRequest = Pick<Parameters<typeof writePart>[0], 'part' | 'messages' | 'stop'>

/**
 * Defines the answers of a chat, by a model that streams: see docs/chat.md.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 */
export function chatTask({ id, run, loadMessages, saveMessages, retry, queue }: ChatTaskOptions): ChatTask {
  const loaded = async (
    chat: ChatReference,
    turns: ChatTurns,
    before = Infinity,
  ): Promise<readonly UIMessage[]> =>
    loadMessages === undefined
      ? turnMessages((await turns.all()).filter(({ payload }) => (payload as Turn).number < before))
      : loadMessages(chat)

  const answered = async (turn: Turn, tools: RunTools): Promise<TurnOutput | null> => {
    const { chat, user, number } = turn
    // The key of a turn that is no longer kept made this one: it is over.
    if (number === 0) return null
    if (number > 1) {
      const earlier: Turn = { ...turn, number: number - 1 }
      const over = { chat, user, number: 0, trigger: 'submit-message' } as const
      const { ok, id: runId } = await chats.triggerAndWait(over, turnKey(id, earlier))
      // Its process may have died with it.
      if (!ok) await withdrawAll(runId)
    }
    const runId = tools.ctx.run.id
    const button = await tools.wait.createToken(stopToken(runId))
    const stop = await tools.wait.signal(button)
    const history = messagesFor(await loaded({ chat, user }, new ChatTurns(tools, id, turn), number), turn)
    let messages = history
    for (let part = 0; ; part += 1) {
      const { message, asked } = await once(`part ${part}`, () =>
        written(turn, tools, { part, messages, stop }),
      )
      messages = [...history, message]
      await withdrawOthers(runId, asked, 'The answer is written anew.')
      if (asked.length === 0) break
      messages = [...history, withAnswers(message, await answersOrStop(runId, asked, stop))]
    }
    await tools.wait.completeToken(button)
    if (saveMessages !== undefined) await once('save', () => saveMessages({ chat, user, messages }))
    return { message: messages.at(-1) as UIMessage }
  }

  const written = async (turn: Turn, tools: RunTools, given: PartRequest): Promise<WrittenPart> => {
    const { part, messages, stop } = given
    const runId = tools.ctx.run.id
    const approvals = new Approvals(runId, part)
    const signal = AbortSignal.any([tools.signal, stop])
    const answer = async (): Promise<ChatAnswer> => {
      if (stop.aborted) return denied(messages)
      const model = await convertToModelMessages([...messages], { ignoreIncompleteToolCalls: true })
      const { chat, user } = turn
      return run({
        ...tools,
        chat,
        user,
        messages: model,
        uiMessages: messages,
        signal,
        ask: approvals.ask,
        once,
      })
    }
    return writePart({ runId, part, messages, approvals, answer, stop, signal: tools.signal })
  }

  const chats = task<Turn, TurnOutput | null>({
    id,
    run: answered,
    onFailure: ({ ctx }) => withdrawAll(ctx.run.id),
    onCancel: ({ ctx }) => withdrawAll(ctx.run.id),
    ...(retry && { retry }),
    ...(queue && { queue }),
  })
  return Object.assign(chats, {
    id,
    turnMessages: async (turns: ChatTurns, chat: ChatReference) => loaded(chat, turns),
  })
}

/** Waits for the answers to calls. The button that stops the turn is an answer to all of them: no. */
async function answersOrStop(
  runId: string,
  asked: readonly AskedCall[],
  stop: AbortSignal,
): ReturnType<typeof answersTo> {
  const answers = answersTo(asked)
  let remove = (): void => undefined
  const stopped = new Promise<void>((resolve) => {
    const listener = (): void => resolve()
    stop.addEventListener('abort', listener)
    remove = () => stop.removeEventListener('abort', listener)
    if (stop.aborted) resolve()
  })
  await Promise.race([answers, stopped])
  remove()
  if (stop.aborted) await withdrawOthers(runId, [], 'The turn was stopped.')
  return answers
}

/** Ends what waits for people in a turn that has ended: its button, and its questions. */
async function withdrawAll(runId: string): Promise<void> {
  await wait.completeToken(await wait.createToken(stopToken(runId)))
  await withdrawOthers(runId, [], 'The turn has ended.')
}

/** What becomes of calls whose turn was stopped before they were made. */
async function* denied(messages: readonly UIMessage[]): AsyncGenerator<UIMessageChunk> {
  for (const part of messages.at(-1)?.parts ?? [])
    if ('toolCallId' in part && part.state === 'approval-responded')
      yield { type: 'tool-output-denied', toolCallId: part.toolCallId }
}
