import type { UIMessage } from 'ai'
import type { Answerer } from '../../api/question.ts'
import type { Run } from '../../api/run.ts'
import type { Token } from '../../api/token.ts'
import type { Engine } from '../../core/engine.ts'
import { type ApprovalAnswer, MOST_REASON, type ToolCall } from './approval.ts'
import { readChatRequest, readChatJson, chatId } from './chat-request.ts'
import { streamTurns } from './chat-stream.ts'
import type { ChatReference, ChatTask } from './chat-task.ts'
import { RefusedChat } from './refused-chat.ts'
import { approvalKey, approvalTag, stopToken, ChatTurns } from './turn.ts'

/** Options of {@link createChatHandler}. */
export interface ChatHandlerOptions {
  /**
   * Who asks: the id of a user, or the user as one who answers questions (`{ id, name, roles }`). None: the request is answered with 401.
   * Called before anything is read of the body.
   */
  readonly authorize: (request: Request) => MaybeUser | Promise<MaybeUser>
  /**
   * The body of a request. `DefaultChatTransport` sends the whole chat each time, unless `prepareSendMessagesRequest` says otherwise.
   *
   * @unit bytes
   * @default `1_000_000`
   */
  readonly maxBodyBytes?: number
}

type MaybeUser = string | Answerer | null | undefined

/** Answers the requests of a page with `useChat`. */
export type ChatHandler = (request: Request) => Promise<Response>

/**
 * Serves a chat to the transports of the AI SDK: see docs/chat.md. A chat belongs to the user who began it; to others it does not exist.
 *
 * @throws TypeError without `authorize`.
 */
export function createChatHandler(
  engine: Engine,
  task: ChatTask,
  // What must be there is checked: without types it may be left out.
  { authorize, maxBodyBytes = 1_000_000 }: ChatHandlerOptions = {} as ChatHandlerOptions,
): ChatHandler {
  if (typeof authorize !== 'function')
    throw new TypeError('Cannot create a chat handler: `authorize` must be a function that says who asks')
  if (!Number.isSafeInteger(maxBodyBytes) || maxBodyBytes < 1)
    throw new RangeError(`Cannot create a chat handler: \`maxBodyBytes\` must be a whole number from 1`)
  return async (request) => {
    try {
      const user = userOf(await authorize(request))
      if (user === undefined) throw new RefusedChat(401, 'Cannot answer: the request is not authorized')
      return await answer({ engine, task, user, maxBodyBytes }, request)
    } catch (error) {
      const { status, message } = refusalOf(error)
      return Response.json({ error: message }, { status })
    }
  }
}

interface Visit {
  readonly engine: Engine
  readonly task: ChatTask
  readonly user: Answerer
  readonly maxBodyBytes: number
}

/** The routes: the last parts of the path, wherever the handler is mounted. */
async function answer(visit: Visit, request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  const [chat = '', what] = pathname.split('/').slice(-2)
  const isPost = request.method === 'POST'
  if (!isPost && request.method !== 'GET') throw new RefusedChat(405, 'Cannot answer: use GET or POST')
  if (!isPost && what === 'stream') return follow(visit, idIn(chat), searchParams.get('startIndex'))
  if (!isPost && what === 'messages') return messages(visit, idIn(chat))
  if (!isPost) throw new RefusedChat(404, 'Cannot answer: there is no such address')
  const body = await readChatJson(request, visit.maxBodyBytes)
  return what === 'stop' ? stop(visit, idIn(chat), body) : take(visit, body)
}

function idIn(segment: string): string {
  try {
    return chatId(decodeURIComponent(segment), 'id')
  } catch {
    throw new RefusedChat(404, 'Cannot answer: there is no such address')
  }
}

function turnsOf({ engine, task, user }: Visit, chat: string): ChatTurns {
  return new ChatTurns(engine, task.id, { user, chat })
}

/** A message begins a turn; the calls of a message of the model that were answered answer their tokens. */
async function take(visit: Visit, body: Readonly<Record<string, unknown>>): Promise<Response> {
  const { chat, ...request } = await readChatRequest(body)
  const turns = turnsOf(visit, chat)
  if (request.message?.role === 'assistant') return answerCalls(visit, turns, request.message)
  const turn = await turns.begin({ ...request, chat, user: visit.user })
  return streamTurns(visit.engine, [turn])
}

/** What the message says of its calls is not believed: each of them has a token, or there is no such call. */
async function answerCalls(visit: Visit, turns: ChatTurns, message: UIMessage): Promise<Response> {
  const { engine, user } = visit
  const turn = await turns.find(message.id)
  if (turn === undefined)
    throw new RefusedChat(404, `Cannot answer calls of message "${message.id}": there is no such message`)
  const answers = await answersOf(visit, turn, message)
  for (const { token, answer } of answers)
    await engine.wait.completeToken(token, answer, { by: { ...user, via: 'chat' } })
  const parts = answers.map(({ token }) => (token.question?.data as ToolCall).part + 1)
  return streamTurns(engine, [turn], { part: Math.max(...parts) })
}

interface GivenAnswer {
  readonly token: Token
  readonly answer: ApprovalAnswer
}

/** The answers in a message. One that is refused refuses them all, before any of them counts. */
async function answersOf(
  { engine, user }: Visit,
  turn: Run,
  { parts }: UIMessage,
): Promise<readonly GivenAnswer[]> {
  const tokens = new Map<string | undefined, Token>()
  for await (const token of engine.wait.listTokens({ tags: approvalTag(turn.id) }))
    tokens.set(token.idempotencyKey, token)
  const names = [user.id, ...(user.roles ?? [])]
  const answers = parts.flatMap((part) => {
    if (!('approval' in part) || part.state !== 'approval-responded') return []
    const { id, approved, reason } = part.approval
    const refuse = (status: number, why: string): never => {
      throw new RefusedChat(status, `Cannot answer approval "${id}": ${why}`)
    }
    const token = tokens.get(approvalKey(turn.id, id)) ?? refuse(404, 'there is no such question')
    const approvers = token.status === 'WAITING' ? token.question?.approvers : undefined
    if (approvers !== undefined && !approvers.some((name) => names.includes(name)))
      refuse(403, `"${user.id}" is not one of its approvers`)
    if (reason !== undefined && reason.length > MOST_REASON) refuse(422, 'its reason is too long')
    return [{ token, answer: { approved, ...(reason !== undefined && { reason }) } }]
  })
  if (answers.length > 0) return answers
  throw new RefusedChat(400, 'Cannot answer: the last message answers no call of a tool')
}

/** Follows what is under way, from its first chunk on. With a `startIndex` the latest turn is read again, too. */
async function follow(visit: Visit, chat: string, startIndex: string | null): Promise<Response> {
  const skip = Number(startIndex ?? 0)
  if (!Number.isSafeInteger(skip) || skip < 0)
    throw new RefusedChat(400, 'Cannot follow: "startIndex" must be a whole number from 0')
  const turns = turnsOf(visit, chat)
  const underWay = await turns.underWay()
  const latest = underWay.length === 0 && startIndex !== null ? await turns.latest() : underWay
  if (latest.length === 0) return new Response(null, { status: 204 })
  return streamTurns(visit.engine, latest, { skip })
}

async function messages(visit: Visit, chat: string): Promise<Response> {
  const reference: ChatReference = { chat, user: visit.user }
  return Response.json({ messages: await visit.task.turnMessages(turnsOf(visit, chat), reference) })
}

/** Stops a turn, if it is under way: another one goes on. */
async function stop(
  { engine, task, user }: Visit,
  chat: string,
  body: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const id = chatId(body['streamId'], 'streamId')
  const turn = await new ChatTurns(engine, task.id, { user, chat }).find(id)
  if (turn === undefined || turn.isCompleted) return Response.json({ stopped: false })
  const token = await engine.wait.createToken(stopToken(turn.id))
  const { success } = await engine.wait.completeToken(token, null, { by: { ...user, via: 'chat' } })
  return Response.json({ stopped: success })
}

function userOf(user: MaybeUser): Answerer | undefined {
  if (typeof user === 'string') return user === '' ? undefined : { id: user }
  return user ?? undefined
}

const STATUSES: Readonly<Record<string, number>> = {
  ERR_NOT_APPROVER: 403,
  ERR_OUTPUT_INVALID: 422,
  ERR_NOT_SERIALIZABLE: 400,
  ERR_STORAGE_UNAVAILABLE: 503,
  ERR_ENGINE_CLOSED: 503,
}

/** What a request is told: of a fault of the application or the engine no more than that there is one. */
function refusalOf(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof RefusedChat) return error
  // Told by its code alone: that of a storage is no WaitpointError.
  const status = error instanceof Error && 'code' in error ? STATUSES[error.code as string] : undefined
  return status === undefined || status === 503
    ? { status: status ?? 500, message: 'Cannot answer: try again later' }
    : { status, message: (error as Error).message }
}
