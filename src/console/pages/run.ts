import type { RunAttempt } from '../../api/run.ts'
import { type RunOwner, enginePlace } from '../../api/run-owner.ts'
import type { ChunkRecord, RunRecord, SegmentEnd } from '../../contract/records.ts'
import type { ChunksRead } from '../../contract/storage.ts'
import { isFinal } from '../../contract/run-states.ts'
import { textOfLine } from '../../api/log-text.ts'
import { storedError } from '../../api/serialize.ts'
import { debounceKeyOf, isUserKey } from '../../contract/key-scopes.ts'
import { html, type Html } from '../../primitives/html.ts'
import type { UnreadInputs } from '../../core/inside.ts'
import type { PageContent } from '../page.ts'
import { runRecord, runTree } from '../records.ts'
import { badge, block, count, duration, facts, indentedPlain, moment, short, table } from '../values.ts'
import { eventsOf, formToken, linkedIds, linkTo, may, placeOf, type Visit, tagLinks } from '../visit.ts'
import { tookOf } from './runs.ts'
import { nameOfToken } from './token.ts'
import { payloadForm, type WrongPayload } from './payload-form.ts'
import { waterfallOf } from './waterfall.ts'

/** The texts of a run that can be downloaded whole. */
export const RUN_TEXTS = ['payload', 'output', 'metadata', 'error'] as const
type RunText = (typeof RUN_TEXTS)[number]

/** So many streams of a run are shown, and so many of the newest chunks of each. */
const MOST_STREAMS = 20
const MOST_CHUNKS = 500
/** So many tokens of a run are shown. */
const MOST_ROWS = 200
/** So many messages that wait, and so many characters of each. */
const MOST_MESSAGES = 50
const MOST_OF_A_MESSAGE = 200
/** A payload of so many characters can be edited for a new run. */
const MOST_EDITED = 20_000
/** So many characters of the error of an earlier attempt are shown before it is opened. */
const MOST_OF_AN_ERROR = 200
/** So much of what a task says of itself. */
const MOST_OF_A_DESCRIPTION = 500

/** *Run*: everything about one run. */
export async function runPage(visit: Visit, id: string, wrong?: WrongPayload): Promise<PageContent> {
  const { inside, engine } = visit
  const record = await runRecord(inside, id)
  const [{ sentence }, { owner, waitingOn, attempts, title }, asked, streams, actions] = await Promise.all([
    engine.runs.explain(id),
    inside.runs.bare(record),
    inside.read(() => inside.host.storage.runs.asked(id)),
    Promise.all(record.streams.slice(0, MOST_STREAMS).map((key) => streamOf(visit, record, key))),
    actionsOf(visit, record, wrong),
  ])
  const tree = await runTree(inside, record, asked.runs.slice(-MOST_ROWS))
  const unread = await inside.runs.unreadInputs(asked)
  const waterfall = await waterfallOf(visit, { record, asked, tree })
  const description = inside.tasks.get(record.taskId)?.options.description
  const waited = new Set(waitingOn.map((wait) => wait.id))
  const tokens = asked.tokens
    .filter(({ kind }) => kind === 'MANUAL')
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const rest = record.streams.length - streams.length
  return {
    title: `${short(title ?? record.taskId, 60)} ${id}`,
    section: 'runs',
    events: eventsOf(visit, id),
    body: html`<div id="head" data-live>
        <div class="title">
          <h1>${short(title ?? record.taskId, 200)}</h1>
          ${badge(record.status)}${tagLinks(visit, 'runs', record.tags)}
        </div>
        <p class="soft">
          ${title !== undefined && html`${short(record.taskId)} · `}<span class="id">${id}</span>
        </p>
        ${description !== undefined && html`<p class="soft">${short(description, MOST_OF_A_DESCRIPTION)}</p>`}
        <p class="sentence">${linkedIds(visit, sentence)}</p>
      </div>
      <div id="actions" data-live>${actions}</div>
      <div id="facts" data-live>${factsOf(visit, record, owner)}</div>
      <div id="error" data-live>${errorOf(visit, record)}</div>
      <div id="attempts" data-live>${attemptsOf(visit, attempts)}</div>
      <div id="timeline" data-live>${waterfall}</div>
      <div class="columns">
        <section>
          <h2>Payload</h2>
          <div id="payload" data-live>${textOf(visit, record, 'payload')}</div>
        </section>
        <section>
          <h2>Output</h2>
          <div id="output" data-live>
            ${
              record.status === 'COMPLETED' || record.returned
                ? textOf(visit, record, 'output')
                : html`<p class="none">${isFinal(record.status) ? 'none' : 'none yet'}</p>`
            }
          </div>
        </section>
      </div>
      <div id="metadata" data-live>
        ${
          record.metadataJson !== undefined &&
          html`<h2>Metadata</h2>
            ${textOf(visit, record, 'metadata')}`
        }
      </div>
      <div id="tokens" data-live>
        ${
          tokens.length > 0 &&
          html`<h2>Tokens</h2>
            ${table(
              ['Token', 'Status', 'Deadline'],
              tokens.slice(-MOST_ROWS).map(
                (token) =>
                  html`<tr id="row-${token.id}">
                    <td>
                      <a
                        class="name"
                        href="${placeOf(visit, 'tokens', token.id)}"
                        ${token.status === 'WAITING' && html`data-act="a"`}
                        >${nameOfToken(token)}</a
                      ><span class="id">${token.id}</span>
                    </td>
                    <td>
                      ${badge(token.status)}
                      ${waited.has(token.id) && html`<span class="soft">the run waits for it</span>`}
                    </td>
                    <td class="num" data-label="deadline">${moment(token.timeoutAt, visit.now)}</td>
                  </tr>`,
              ),
            )}
            ${tokens.length > MOST_ROWS && html`<p class="note">The last ${MOST_ROWS} of ${count(tokens.length)} tokens.</p>`}`
        }
      </div>
      <div id="messages" data-live>${unread.length > 0 && messagesOf(visit, unread)}</div>
      <div id="log" data-live>${logOf(visit, id)}</div>
      <div id="streams" data-live>
        ${streams}${rest > 0 && html`<p class="note">${rest} more streams are not shown.</p>`}
      </div>`,
  }
}

/** The messages that the run has not read, each stream in its order. */
function messagesOf({ now }: Visit, unread: readonly UnreadInputs[]): Html {
  const all = unread.flatMap(({ stream, messages }) => messages.map((message) => ({ stream, ...message })))
  return html`<h2>Messages that wait</h2>
    ${table(
      ['Stream', 'Message', 'By', 'Sent'],
      all.slice(0, MOST_MESSAGES).map(
        ({ stream, dataJson, by, sentAt }) =>
          html`<tr>
            <td>${short(stream, 60)}</td>
            <td>${short(dataJson ?? '', MOST_OF_A_MESSAGE)}</td>
            <td data-label="by">${by?.id !== undefined && short(by.name ?? by.id, 60)}</td>
            <td class="num" data-label="sent">${moment(sentAt, now)}</td>
          </tr>`,
      ),
    )}
    ${all.length > MOST_MESSAGES && html`<p class="note">The first ${MOST_MESSAGES} of ${count(all.length)} messages.</p>`}`
}

/** One text of a run, whole. */
export async function runText(visit: Visit, id: string, name: RunText): Promise<string | undefined> {
  return stored(await runRecord(visit.inside, id), name)
}

function stored(record: RunRecord, name: RunText): string | undefined {
  const { payloadJson, outputJson, metadataJson, errorJson } = record
  return { payload: payloadJson, output: outputJson, metadata: metadataJson, error: errorJson }[name]
}

function textOf(visit: Visit, record: RunRecord, name: RunText): Html {
  const whole = `${placeOf(visit, 'runs', record.id)}/${name}.json`
  return block(indentedPlain(stored(record, name)), { label: name, whole })
}

function factsOf(visit: Visit, record: RunRecord, owner: RunOwner | undefined): Html {
  const { now } = visit
  const { createdAt, startedAt, finishedAt, attempt, queue, concurrencyKey, priorityMs, version, key } =
    record
  const debounceKey = debounceKeyOf(record)
  const link = html`<a href="${linkTo(visit, 'runs', { queue })}">${short(queue)}</a>`
  return facts([
    ['Created', moment(createdAt, now)],
    ['Started', moment(startedAt, now)],
    ['Ended', finishedAt === undefined ? undefined : moment(finishedAt, now)],
    ['Took', finishedAt === undefined ? undefined : html`${tookOf(record)}`],
    ['Calls of its function', count(attempt)],
    ['Queue', link],
    ['Concurrency key', concurrencyKey === undefined ? undefined : short(concurrencyKey)],
    ['Priority', priorityMs === undefined ? undefined : `${priorityMs / 1_000} s`],
    ['Idempotency key', key === undefined || !isUserKey(key.scope) ? undefined : short(key.value)],
    ['Debounce key', debounceKey === undefined ? undefined : short(debounceKey)],
    ['Version of the code', version],
    ['Engine', owner && ownerOf(visit, owner)],
  ])
}

function ownerOf(visit: Visit, owner: RunOwner): Html {
  const { id, heardAt } = owner
  const heard = heardAt && html`last heard ${moment(heardAt.getTime(), visit.now)}`
  return html`<a class="id" href="${linkTo(visit, 'engines')}">${id}</a>
    <span class="soft">${short(enginePlace(owner))} ${heard}</span>`
}

function errorOf(visit: Visit, { id, errorJson }: RunRecord): Html | undefined {
  if (errorJson === undefined) return undefined
  const { name, message, stack, code } = storedError(errorJson)
  // The stack begins with the name and the message.
  const text =
    stack?.includes(message) === true
      ? stack
      : `${name}: ${message}${stack === undefined ? '' : `\n${stack}`}`
  const whole = `${placeOf(visit, 'runs', id)}/error.json`
  return html`<h2>Error ${code !== undefined && html`<code>${short(code)}</code>`}</h2>
    ${block(text, { label: 'error', whole })}`
}

/** The attempts that have thrown. */
function attemptsOf({ now }: Visit, attempts: readonly RunAttempt[]): Html | undefined {
  if (attempts.length === 0) return undefined
  return html`<h2>Attempts</h2>
    ${table(
      ['Attempt', 'Began', 'Executed', 'Waited', 'Error'],
      attempts.map(({ number, startedAt, executingMs, waitingMs, error: { name, message, stack } }) => {
        const line = short(`${name}: ${message}`, MOST_OF_AN_ERROR)
        return html`<tr>
          <td class="num">${count(number)}</td>
          <td class="num" data-label="began">${moment(startedAt.getTime(), now)}</td>
          <td class="num" data-label="executed">${duration(executingMs)}</td>
          <td class="num" data-label="waited">${duration(waitingMs)}</td>
          <td>
            ${
              stack === undefined
                ? line
                : html`<details>
                    <summary>${line}</summary>
                    ${block(stack, { label: `stack of attempt ${number}` })}
                  </details>`
            }
          </td>
        </tr>`
      }),
    )}
    <p class="note">Those that have thrown, the last 50 at most.</p>`
}

/** The last lines that the run has logged in this process. */
function logOf({ inside }: Visit, id: string): Html | undefined {
  const lines = inside.runs.log(id)
  if (lines.length === 0) return undefined
  const text = lines.map((line) => textOfLine(line)).join('\n')
  return html`<h2>Log</h2>
    ${block(text, { label: 'log', isEnd: true })}
    <p class="note">The last lines that this process keeps.</p>`
}

async function streamOf({ inside }: Visit, record: RunRecord, key: string): Promise<Html> {
  const isOver = isFinal(record.status)
  const read = (from: number, limit: number): Promise<ChunksRead | undefined> =>
    inside.streams.read({ runId: record.id, key, from, limit }, isOver)
  const { stream } = (await read(0, 1)) ?? {}
  const tail = stream && (await read(Math.max(stream.first, stream.next - MOST_CHUNKS), MOST_CHUNKS))
  const chunks = tail?.chunks ?? []
  const total = tail === undefined ? 0 : tail.first + chunks.length
  const end = tail?.stream.segments.at(-1)?.end
  return html`<h2>Stream ${short(key)}</h2>
    ${
      chunks.length === 0
        ? html`<p class="none">no chunks</p>`
        : block(textOfChunks(chunks, tail?.first ?? 0), { label: `stream ${short(key)}`, isEnd: true })
    }
    <p class="note">
      ${count(total)}
      ${total === 1 ? 'chunk' : 'chunks'}${total > chunks.length && html`, the last ${count(chunks.length)} are shown`},
      ${endText(end)}
    </p>`
}

/** Texts as one text, other values on lines of their own with their places. */
function textOfChunks(chunks: readonly ChunkRecord[], first: number): string {
  const areTexts = chunks.every(({ value }) => typeof value === 'string')
  if (areTexts) return chunks.map(({ value }) => String(value)).join('')
  return chunks.map(({ text }, at) => `${first + at}  ${text}`).join('\n')
}

function endText(end: SegmentEnd | undefined): string {
  if (end === undefined) return 'more may come'
  return { done: 'ended', failed: 'its source failed', interrupted: 'interrupted' }[end.reason]
}

async function actionsOf(
  visit: Visit,
  record: RunRecord,
  wrong: WrongPayload | undefined,
): Promise<Html | undefined> {
  const { id, status } = record
  const place = placeOf(visit, 'runs', id)
  const [mayCancel, mayReplay, mayTrigger] = await Promise.all([
    may(visit, 'cancel'),
    may(visit, 'replay'),
    may(visit, 'trigger'),
  ])
  const button = (action: string, label: string): Html =>
    html`<form method="post" action="${place}/${action}">
      ${formToken(visit)}<button class="main">${label}</button>
    </form>`
  const cancel =
    mayCancel &&
    !isFinal(status) &&
    html`<details class="sure" id="cancel" data-act="c">
      <summary>Cancel the run…</summary>
      ${button('cancel', 'Cancel it now')}
    </details>`
  const replay =
    mayReplay &&
    html`<details class="sure" id="replay">
      <summary>Replay…</summary>
      ${button('replay', 'Start a new run with this payload')}
    </details>`
  const trigger = mayTrigger && newPayload(visit, record, wrong)
  return cancel || replay || trigger
    ? html`<div class="actions">${cancel}${replay}${trigger}</div>`
    : undefined
}

/** A form for a new run with another payload, unless the payload is too long to be edited. */
function newPayload(
  visit: Visit,
  { id, payloadJson = '' }: RunRecord,
  wrong: WrongPayload | undefined,
): Html | undefined {
  if (payloadJson.length > MOST_EDITED) return undefined
  const form = payloadForm(visit, {
    action: `${placeOf(visit, 'runs', id)}/trigger`,
    label: 'JSON. Empty: no payload.',
    button: 'Start a new run with it',
    payloadJson,
    wrong,
  })
  return html`<details class="sure wide" id="trigger" ${wrong !== undefined && html`open`}>
    <summary>Run with another payload…</summary>
    ${form}
  </details>`
}
