import type { AnswerError, SentField } from '../answer-page/values.ts'
import type { Answerer, Person, Question } from '../api/question.ts'
import { questionOf, UnknownAnswerer } from '../core/inside.ts'
import { answerByForm } from '../http/answer-form.ts'
import { storedToken } from './records.ts'
import type { QueueHandle } from '../api/queue.ts'
import type { CompletedToken, EngineWaitNamespace } from '../api/token.ts'
import { MOST_QUEUE_LIMIT } from '../contract/queue-limits.ts'
import { boundJson } from '../http/requests/bounded-parts.ts'
import { refusingWrongInput } from '../http/requests/wrong-input.ts'
import { Refusal } from '../http/refusal.ts'
import { type ErrorCode, WaitpointError } from '../api/errors.ts'
import { findNonJson, measureJson } from '../primitives/json.ts'
import { Refused } from './refused.ts'
import type { ConsoleAction } from './options.ts'
import { readForm, requireFormToken } from './form.ts'
import { queuesPage } from './pages/queues.ts'
import { runPage } from './pages/run.ts'
import { tasksPage } from './pages/tasks.ts'
import { type Answered, type TokenChangeName, tokenPage } from './pages/token.ts'
import type { PageContent } from './page.ts'
import { short } from './values.ts'
import { filterOf, linkTo, may, personOf, placeOf, type Visit } from './visit.ts'

const BY_CONSOLE = new UnknownAnswerer('console')
/** A task refuses a payload with these. */
const PAYLOAD_FAULTS: readonly ErrorCode[] = [
  'ERR_PAYLOAD_INVALID',
  'ERR_NOT_SERIALIZABLE',
  'ERR_CANNOT_DECODE',
]

/** What an action leads to: another page, or this one with what there is to say. */
export type Acted = { readonly location: string } | { readonly status: number; readonly page: PageContent }

/** Cancels a run. */
export async function cancelRun(visit: Visit, id: string): Promise<Acted> {
  await enter(visit, 'cancel')
  await visit.engine.runs.cancel(id)
  return { location: placeOf(visit, 'runs', id) }
}

/** Stores a new run with the payload of another one, for whichever engine knows its task. */
export async function replayRun(visit: Visit, id: string): Promise<Acted> {
  await enter(visit, 'replay')
  const replay = await visit.inside.runs.replay(id)
  return { location: placeOf(visit, 'runs', replay.id) }
}

/** Stores a new run like another one, with another payload. */
export async function triggerLikeRun(visit: Visit, id: string): Promise<Acted> {
  const form = await enter(visit, 'trigger')
  const typed = form.get('payload') ?? ''
  const read = await readJson(visit, typed)
  if ('problem' in read)
    return { status: 422, page: await runPage(visit, id, { typed, problem: read.problem }) }
  const like = await visit.inside.runs.replay(id, { payload: read.value })
  return { location: placeOf(visit, 'runs', like.id) }
}

/** Stores a new run of a task of this engine. */
export async function triggerTask(visit: Visit): Promise<Acted> {
  const form = await enter(visit, 'trigger')
  const { engine, inside } = visit
  // Not in the path, as a name may hold slashes and dots.
  const taskId = visit.url.searchParams.get('task') ?? ''
  if (inside.tasks.get(taskId) === undefined) throw new Refused(422, 'This engine does not know the task.')
  const typed = form.get('payload') ?? ''
  const refused = async (problem: string): Promise<Acted> => ({
    status: 422,
    page: await tasksPage(visit, { taskId, typed, problem }),
  })
  const read = await readJson(visit, typed)
  if ('problem' in read) return refused(read.problem)
  try {
    const { id } = await (inside.stored ?? engine).tasks.trigger(taskId, read.value)
    return { location: placeOf(visit, 'runs', id) }
  } catch (error) {
    const isOfPayload = error instanceof WaitpointError && PAYLOAD_FAULTS.includes(error.code)
    if (!isOfPayload) throw error
    return refused(error.message)
  }
}

/** Completes a token. An answer that comes second, or too late, is told so, whether it fits or not. */
export async function completeToken(visit: Visit, id: string): Promise<Acted> {
  const form = await enter(visit, 'complete')
  const { record } = await storedToken(visit.inside, id)
  const question = questionOf(record)
  const typed = form.get('output') ?? ''
  if (record.status !== 'WAITING') return answered(visit, id, { kind: 'lost', typed })
  if (question !== undefined) return answerQuestion(visit, { id, question }, [...form])
  const read = await readJson(visit, typed)
  if ('problem' in read) return answered(visit, id, { kind: 'wrong', problem: read.problem, typed })
  const { success } = await visit.engine.wait.completeToken(id, read.value, {
    by: answererOf(await personOf(visit)),
  })
  return success ? { location: placeOf(visit, 'tokens', id) } : answered(visit, id, { kind: 'lost', typed })
}

/** Completes a token from the list of what waits, and goes on there. */
export async function answerInbox(visit: Visit, id: string): Promise<Acted> {
  const acted = await completeToken(visit, id)
  return 'location' in acted ? { location: linkTo(visit, 'inbox', { who: filterOf(visit, 'who') }) } : acted
}

function answererOf(person: Person | undefined): Answerer {
  return person === undefined ? BY_CONSOLE : { ...person, via: 'console' }
}

/** Answers a question with its form. An answer that does not fit, or is of no approver, changes nothing. */
async function answerQuestion(
  visit: Visit,
  token: { readonly id: string; readonly question: Question },
  fields: readonly SentField[],
): Promise<Acted> {
  const { id } = token
  const { turns } = visit
  const wrong = (problem: string, errors: readonly AnswerError[]): Promise<Acted> =>
    answered(visit, id, { kind: 'wrong', problem, sent: fields, errors })
  const outcome = await answerByForm(visit.engine, {
    token,
    by: answererOf(await personOf(visit)),
    fields,
    turns,
  })
  switch (outcome.kind) {
    case 'won':
      return { location: placeOf(visit, 'tokens', id) }
    case 'lost':
      return answered(visit, id, { kind: 'lost' })
    case 'more':
      return wrong('there are more rows for it now.', [])
    case 'errors':
      return wrong('the answer does not fit. See below.', outcome.errors)
    case 'no approver':
      throw new Refused(403, 'This question has approvers, and the console does not know you as one of them.')
  }
}

/** Withdraws, extends or reassigns a token that waits. One that was settled meanwhile stays as it is, and its page tells how. */
export async function changeAsked(visit: Visit, id: string, change: TokenChangeName): Promise<Acted> {
  const form = await enter(visit, 'complete')
  if (change === 'withdraw' && visit.inside.host.storage.timesOut !== true)
    throw new Refused(409, 'This storage cannot end a wait before its deadline.')
  const person = await personOf(visit)
  try {
    const { success } = await refusingWrongInput(() =>
      TOKEN_CHANGES[change](visit.engine.wait, { id, form, person }),
    )
    return success
      ? { location: placeOf(visit, 'tokens', id) }
      : await answered(visit, id, { kind: 'late change' })
  } catch (error) {
    if (error instanceof WaitpointError && error.code === 'ERR_NOT_APPROVER')
      throw new Refused(403, 'This question has approvers, and only they let others answer.')
    if (!(error instanceof Refusal)) throw error
    return answered(visit, id, { kind: 'wrong change', problem: error.message })
  }
}

interface AskedChange {
  readonly id: string
  readonly form: URLSearchParams
  readonly person: Person | undefined
}

const TOKEN_CHANGES: Readonly<
  Record<TokenChangeName, (wait: EngineWaitNamespace, asked: AskedChange) => Promise<CompletedToken>>
> = {
  withdraw(wait, { id, form, person }) {
    const reason = textOf(form, 'reason')
    return wait.withdrawToken(id, { by: answererOf(person), ...(reason !== '' && { reason }) })
  },
  extend: (wait, { id, form }) => wait.extendToken(id, textOf(form, 'timeout')),
  reassign(wait, { id, form, person }) {
    const approvers = textOf(form, 'approvers').split(/\s*\n\s*/)
    return wait.reassignToken(
      id,
      approvers.filter((each) => each !== ''),
      person && { by: person },
    )
  },
}

function textOf(form: URLSearchParams, name: string): string {
  return form.get(name)?.trim() ?? ''
}

/** Pauses or resumes a queue, or changes its limit. */
export async function setQueue(visit: Visit): Promise<Acted> {
  const form = await enter(visit, 'queue')
  if (visit.inside.host.storage.queues === undefined)
    throw new Refused(409, 'This storage keeps nothing of queues.')
  // Not in the path, as a name may hold slashes and dots.
  const name = visit.url.searchParams.get('queue') ?? ''
  if (name === '') throw new Refused(400, 'This form names no queue.')
  const problem = await changed(visit.engine.queue(name), form)
  return problem === undefined
    ? { location: linkTo(visit, 'queues') }
    : { status: 422, page: await queuesPage(visit, `Queue ${short(name)} was not changed: ${problem}`) }
}

/** Does what a form says, or tells why it cannot. */
async function changed(queue: QueueHandle, form: URLSearchParams): Promise<string | undefined> {
  switch (form.get('change')) {
    case 'pause':
      await queue.pause()
      return undefined
    case 'resume':
      await queue.resume()
      return undefined
    case 'set-limit': {
      const text = form.get('limit')?.trim() ?? ''
      const limit = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
      if (!(limit <= MOST_QUEUE_LIMIT))
        return `the limit must be a whole number from 0 to ${MOST_QUEUE_LIMIT}.`
      await queue.setLimit(limit)
      return undefined
    }
    case 'reset-limit':
      await queue.resetLimit()
      return undefined
    default:
      throw new Refused(400, 'This form changes nothing.')
  }
}

async function answered(visit: Visit, id: string, answer: Answered): Promise<Acted> {
  const status = answer.kind.startsWith('wrong') ? 422 : 409
  return { status, page: await tokenPage(visit, id, answer) }
}

/** Refuses what the visitor may not do before anything is read of the form but its token. */
export async function enter(visit: Visit, action: ConsoleAction): Promise<URLSearchParams> {
  if (visit.settings.isReadOnly) throw new Refused(403, 'This console is read-only.')
  // Asked with a request whose body is not read yet.
  const isAllowed = await may(visit, action)
  // Of a copy, as a page that is drawn for an answer asks with the request once more.
  const form = await readForm(visit.request.clone(), visit)
  requireFormToken(form, visit.session)
  if (!isAllowed) throw new Refused(403, 'You may look, but not do this.')
  return form
}

type ReadJson = { readonly value: unknown } | { readonly problem: string }

/** Reads what was typed: its parts are counted in one turn, made into values in the next, and stored or shown in a third. */
async function readJson({ turns }: Visit, text: string): Promise<ReadJson> {
  if (text.trim() === '') return { value: undefined }
  boundJson(text)
  await turns.next(text.length)
  const read = jsonOf(text)
  await turns.next(text.length)
  return read
}

function jsonOf(text: string): ReadJson {
  try {
    const value: unknown = JSON.parse(text)
    // To find what is wrong takes longer than to see that nothing is.
    const fault = measureJson(value) < 0 ? findNonJson(value) : undefined
    return fault === undefined
      ? { value }
      : { problem: `${short(fault.path)} cannot be stored: ${fault.reason}.` }
  } catch (error) {
    return {
      problem: `this is no JSON (${error instanceof Error ? error.message : String(error)}). A text needs double quotes.`,
    }
  }
}
