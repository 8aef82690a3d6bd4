import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import { answerForm, isAnsweredByButtons } from '../../answer-page/controls.ts'
import { dataInShort, shortAnswer } from '../../answer-page/data.ts'
import type { FormModel } from '../../answer-page/form.ts'
import { Wording } from '../../answer-page/texts.ts'
import { plainValue } from '../../api/noted-value.ts'
import type { Person, Question } from '../../api/question.ts'
import { fromJson } from '../../api/serialize.ts'
import { questionOf, withdrawalOf } from '../../core/inside.ts'
import { modelOf } from '../../http/answer-form.ts'
import { html, type Html } from '../../primitives/html.ts'
import { isApprover } from '../../questions/approvers.ts'
import { choiceOf } from '../filters.ts'
import type { PageContent } from '../page.ts'
import { runRecord, tokenRecords, waitingTokens, type WaitingTokens } from '../records.ts'
import { badge, count, isoOf, moment, short } from '../values.ts'
import { eventsOf, filterOf, linkTo, may, personOf, placeOf, type Visit } from '../visit.ts'
import { answererOf, nameOfToken } from './token.ts'

/** So many that wait are shown on one page, and so many that were settled beside them. */
const MOST_SHOWN = 50
const MOST_SETTLED = 10
/** A form with a longer schema, or of so much markup, is on a page of its own. */
const MOST_OF_A_SCHEMA = 4_000
const MOST_OF_A_FORM = 12_000
/** So many approvers are named. */
const MOST_APPROVERS = 4
/** What is left of the time is urgent, or soon over. */
const URGENT_MS = 600_000
const SOON_MS = 3_600_000

const WORDING = new Wording()

/** A token that waits, with what it asks. */
interface Asked {
  readonly record: TokenRecord
  /** Absent: it is a token without a question. */
  readonly question: Question | undefined
  readonly isMine: boolean
}

/** *Inbox*: what people are asked, the most urgent first. */
export async function inboxPage(visit: Visit): Promise<PageContent> {
  const { inside } = visit
  const [person, mayComplete, waiting, settled] = await Promise.all([
    personOf(visit),
    may(visit, 'complete'),
    waitingTokens(inside, filterOf(visit, 'after')),
    settledTokens(visit),
  ])
  const who = choiceOf(visit, 'who', ['me', 'all']) ?? (person === undefined ? 'all' : 'me')
  const all = waiting.records.map((record) => askedOf(record, person)).sort(byUrgency)
  const mine = all.filter(({ isMine }) => isMine)
  const fitting = who === 'me' ? mine : all
  const shown = fitting.slice(0, MOST_SHOWN)
  const tasks = await tasksOf(visit, shown)
  const more = waiting.next === undefined ? '' : '+'
  const tab = (name: 'me' | 'all', label: string, list: readonly Asked[]): Html =>
    html`<a href="${linkTo(visit, 'inbox', { who: name })}" ${name === who && html`aria-current="true"`}
      >${label} <span class="n">${count(list.length)}${more}</span></a
    >`
  return {
    title: fitting.length === 0 ? 'Inbox' : `(${count(fitting.length)}${more}) Inbox`,
    section: 'inbox',
    events: eventsOf(visit),
    body: html`<div class="head">
        <h1>Inbox</h1>
        <p id="sum" class="soft" data-live>${sumOf(visit, fitting, more)}</p>
      </div>
      <nav class="tabs" id="whose" aria-label="Whose" data-live>
        ${tab('me', 'For me', mine)}${tab('all', 'All', all)}<a class="end" href="${linkTo(visit, 'tokens')}"
          >All tokens…</a
        >
      </nav>
      <div class="split">
        <div id="asked" data-live>
          ${
            shown.length === 0
              ? nothing(visit, who, all.length)
              : html`<ol class="sheet asks" id="asks" aria-label="Open questions" data-list="still">
                  ${shown.map((asked) => rowOf(visit, asked, { who, mayComplete, tasks }))}
                </ol>`
          }
          ${boundOf(visit, waiting, { who, hidden: fitting.length - shown.length })}
        </div>
        <aside class="sheet panel" id="settled" aria-label="Settled lately" data-live>
          <header><h2>Settled lately</h2></header>
          ${
            settled.length === 0
              ? html`<p class="none">nothing yet</p>`
              : html`<ol class="done">
                  ${settled.map((record) => settledRow(visit, record))}
                </ol>`
          }
          <p class="more">
            <a class="link" href="${linkTo(visit, 'tokens', { status: 'COMPLETED' })}">All answers</a>
          </p>
        </aside>
      </div>`,
  }
}

function askedOf(record: TokenRecord, person: Person | undefined): Asked {
  const question = questionOf(record)
  return { record, question, isMine: isApprover(question ?? {}, person) }
}

/** By the deadline, then by age. */
function byUrgency({ record: one }: Asked, { record: other }: Asked): number {
  return (one.timeoutAt ?? Infinity) - (other.timeoutAt ?? Infinity) || one.createdAt - other.createdAt || 0
}

/** The last that were settled, of the newest of each way. */
async function settledTokens({ inside }: Visit): Promise<readonly TokenRecord[]> {
  const pages = await Promise.all(
    (['COMPLETED', 'TIMED_OUT'] as const).map((status) =>
      tokenRecords(inside, { status: [status] }, { limit: MOST_SETTLED }),
    ),
  )
  const at = ({ completedAt, timeoutAt }: TokenRecord): number => completedAt ?? timeoutAt ?? 0
  const records = pages.flatMap((page) => page.records)
  return records.sort((one, other) => at(other) - at(one)).slice(0, MOST_SETTLED)
}

/** The runs that ask, each once. */
async function tasksOf(visit: Visit, shown: readonly Asked[]): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(shown.map(({ record }) => record.runId).filter((id) => id !== undefined))
  const runs = await Promise.all(
    [...ids].map((id): Promise<RunRecord | undefined> => runRecord(visit.inside, id).catch(() => undefined)),
  )
  return new Map(runs.filter((run) => run !== undefined).map(({ id, taskId }) => [id, taskId]))
}

function sumOf({ now }: Visit, [first, ...rest]: readonly Asked[], more: string): Html {
  if (first === undefined) return html`nothing waits for an answer`
  const number = rest.length + 1
  const { timeoutAt } = first.record
  const what =
    number === 1 && more === '' ? 'one waits' : `${count(number)}${more} wait, the most urgent first`
  return html`${what}${timeoutAt !== undefined && html`; the first closes ${moment(timeoutAt, now)}`}`
}

interface RowView {
  readonly who: string
  readonly mayComplete: boolean
  readonly tasks: ReadonlyMap<string, string>
}

function rowOf(visit: Visit, asked: Asked, { who, mayComplete, tasks }: RowView): Html {
  const { record, question, isMine } = asked
  const { id } = record
  const place = placeOf(visit, 'tokens', id)
  return html`<li class="ask" id="ask-${id}">
    ${leftOf(visit, record)}
    <div>
      <h2 dir="auto"><a href="${place}">${nameOfToken(record)}</a></h2>
      ${dataOf(question)}
      <p class="meta">
        ${askerOf(visit, record, tasks)} · asked ${moment(record.createdAt, visit.now)}${metaOf(asked)}
      </p>
    </div>
    ${mayComplete && isMine && controlsOf(visit, asked, linkTo(visit, `inbox/${encodeURIComponent(id)}/answer`, { who }))}
  </li>`
}

function leftOf({ now }: Visit, { timeoutAt }: TokenRecord): Html {
  if (timeoutAt === undefined) return html`<p class="left">Open<small>no deadline</small></p>`
  const ms = timeoutAt - now
  const iso = isoOf(timeoutAt)
  const isToday = iso.slice(0, 10) === isoOf(now).slice(0, 10)
  const until = `${isToday ? '' : `${iso.slice(0, 10)} `}${iso.slice(11, 16)} UTC`
  return html`<p class="left ${ms < URGENT_MS ? 'no' : ms < SOON_MS && 'warn'}">
    ${moment(timeoutAt, now, 'left')}<small>until ${until}</small>
  </p>`
}

function dataOf(question: Question | undefined): Html | undefined {
  if (question?.data === undefined) return undefined
  const { entries, rest } = dataInShort(plainValue(question.data), WORDING)
  return html`<dl class="data">
    ${entries.map(
      ([name, text]) =>
        html`<div dir="auto">
          <dt>${name}</dt>
          <dd>${text}</dd>
        </div>`,
    )}
    ${rest > 0 && html`<div><dt>and ${count(rest)} more</dt></div>`}
  </dl>`
}

function askerOf(visit: Visit, { runId }: TokenRecord, tasks: ReadonlyMap<string, string>): Html {
  if (runId === undefined) return html`asked outside of runs`
  return html`<a class="link" href="${placeOf(visit, 'runs', runId)}">${short(tasks.get(runId) ?? runId)}</a>`
}

/** Who may answer, and what it means if they do not. */
function metaOf({ record, question }: Asked): string {
  if (question === undefined)
    return ` · a token without a question${record.tags.length === 0 ? '' : ', told by its tags'}`
  const { approvers, onTimeoutText } = question
  const named = approvers?.slice(0, MOST_APPROVERS).map((name) => short(name, 60))
  const rest = (approvers?.length ?? 0) - (named?.length ?? 0)
  const who = named === undefined ? 'anyone' : `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
  return ` · ${who} may answer${onTimeoutText === undefined ? '' : ` · without an answer: ${short(onTimeoutText, 200)}`}`
}

/** Buttons in the row, else a form that unfolds; what has none, or a long one, is answered on its page. */
function controlsOf(visit: Visit, { record, question }: Asked, action: string): Html {
  const { id } = record
  const page = html`<p class="acts">
    <a class="button" data-act="a" href="${placeOf(visit, 'tokens', id)}#answer"
      >${question === undefined ? 'Answer in JSON…' : 'Answer…'}</a
    >
  </p>`
  const model = question && shortModel(question)
  if (model === undefined) return page
  const form = answerForm(model, {
    action,
    hidden: [['_token', visit.session.formToken]],
    idPrefix: `${id}-`,
  })
  if (isAnsweredByButtons(model)) return html`<div class="choose" data-act="a" data-in-place>${form}</div>`
  if (form.toString().length > MOST_OF_A_FORM) return page
  return html`<details id="open-${id}" data-act="a" data-in-place>
    <summary class="button">Answer…</summary>
    ${form}
  </details>`
}

function shortModel(question: Question): FormModel | undefined {
  if (JSON.stringify(question.schema ?? '').length > MOST_OF_A_SCHEMA) return undefined
  const model = modelOf({ question })
  return model.kind === 'json' ? undefined : model
}

function settledRow(visit: Visit, record: TokenRecord): Html {
  const { id, status, outputJson, completedAt, timeoutAt } = record
  const question = questionOf(record)
  const answer =
    question === undefined || outputJson === undefined || outputJson.length > MOST_OF_A_SCHEMA
      ? undefined
      : shortAnswer(modelOf({ question }), plainValue(fromJson(outputJson)), WORDING)
  const said = withdrawalOf(record) === undefined ? answer : 'withdrawn'
  const by = answererOf(record)
  return html`<li id="done-${id}" data-of="ask-${id}">
    <p class="line">
      <a dir="auto" href="${placeOf(visit, 'tokens', id)}">${nameOfToken(record)}</a>
      <span class="soft">${moment(completedAt ?? timeoutAt, visit.now)}</span>
    </p>
    <p>
      ${badge(status)}${said !== undefined && html` <b dir="auto">${short(said)}</b>`}${
        by !== undefined && html` <span class="soft">${by}</span>`
      }
    </p>
  </li>`
}

/** What is not on the page. */
function boundOf(
  visit: Visit,
  { lookedThrough, next }: WaitingTokens,
  { who, hidden }: { readonly who: string; readonly hidden: number },
): Html {
  const after = filterOf(visit, 'after')
  const link = (to: string | undefined, label: string): Html =>
    html`<a href="${linkTo(visit, 'inbox', { who, after: to })}">${label}</a>`
  return html`${hidden > 0 && html`<p class="note">${count(hidden)} less urgent ones are not shown.</p>`}${
    next !== undefined &&
    html`<p class="note">
      These are of the ${count(lookedThrough)} ${after === undefined ? 'newest' : 'next'} tokens that wait.
      Older ones may be more urgent: ${link(next, 'look through the next')}.
    </p>`
  }${after !== undefined && html`<p class="note">${link(undefined, 'Back to the newest')}</p>`}`
}

function nothing(visit: Visit, who: string, others: number): Html {
  if (who === 'me' && others > 0)
    return html`<div class="empty">
      <h2>Nothing waits for you.</h2>
      <a href="${linkTo(visit, 'inbox', { who: 'all' })}">Show what others are asked</a>
    </div>`
  return html`<div class="empty">
    <h2>Nothing waits for an answer.</h2>
    <p>A task asks a person like this:</p>
    <pre tabindex="0" role="region" aria-label="Example">
const token = await wait.createToken({ message: 'Publish it?', choices: ['yes', 'no'], timeout: '24h' })
const answer = await wait.forToken(token).unwrap()</pre>
  </div>`
}
