import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import { answerForm as formOfQuestion } from '../../answer-page/controls.ts'
import { shownData } from '../../answer-page/data.ts'
import { Wording } from '../../answer-page/texts.ts'
import type { AnswerError, SentField } from '../../answer-page/values.ts'
import { plainValue } from '../../api/noted-value.ts'
import type { Question } from '../../api/question.ts'
import { answeredBy, questionOf, withdrawalOf } from '../../core/inside.ts'
import { modelOf } from '../../http/answer-form.ts'
import { exactly, html, type Html } from '../../primitives/html.ts'
import { isApprover } from '../../questions/approvers.ts'
import type { PageContent } from '../page.ts'
import { storedToken, runRecord } from '../records.ts'
import { badge, block, facts, indentedText, indentedPlain, isoOf, moment, short } from '../values.ts'
import { eventsOf, formToken, may, personOf, placeOf, type Visit, tagLinks } from '../visit.ts'

/** So many of the runs that wait for a token are shown. */
const MOST_WAITING = 20
/** So much of a message is a name. */
const MOST_OF_A_NAME = 200

/** What a token is called: by the first line of its message, else by its tags. */
export function nameOfToken(record: TokenRecord): string {
  const [line = ''] = (questionOf(record)?.message ?? '').trim().split(/[\r\n]/, 1)
  if (line !== '') return short(line, MOST_OF_A_NAME)
  return record.tags.length === 0 ? 'no tags' : short(record.tags.join(', '))
}

/** What a person may change of a token that waits. */
export type TokenChangeName = 'withdraw' | 'extend' | 'reassign'

/** What was done here in vain: the token was settled before an answer or a change, or one of them cannot be used. */
export interface Answered {
  readonly kind: 'lost' | 'late change' | 'wrong' | 'wrong change'
  /** What is wrong with it. */
  readonly problem?: string
  /** The text as it was typed. */
  readonly typed?: string
  /** The form of a question as it was sent, and what is wrong with it. */
  readonly sent?: readonly SentField[]
  readonly errors?: readonly AnswerError[]
}

/** *Token*: what is asked, and a form for the answer. */
export async function tokenPage(visit: Visit, id: string, answered?: Answered): Promise<PageContent> {
  const { inside } = visit
  const { record, waiters = [] } = await storedToken(inside, id, MOST_WAITING)
  const { status, tags } = record
  const question = questionOf(record)
  // A token that no run made is asked for by a run that waits for it.
  const runId = record.runId ?? waiters[0]
  const [mayComplete, answer, run] = await Promise.all([
    may(visit, 'complete'),
    answerPart(visit, record, answered),
    runId === undefined ? undefined : runRecord(inside, runId).catch(() => undefined),
  ])
  const title = question?.message === undefined && tags.length === 0 ? 'Token' : nameOfToken(record)
  return {
    title: `${title} ${id}`,
    section: 'inbox',
    events: eventsOf(visit, runId),
    body: html`<div id="head" data-live>
        <div class="title">
          <h1>${title}</h1>
          ${badge(status)}${tagLinks(visit, 'tokens', tags)}
        </div>
        <p class="id soft">${id}</p>
      </div>
      ${answered !== undefined && toldOf(record, answered)}
      <div id="state" data-live>${status !== 'WAITING' && settledOf(record, answered)}</div>
      <div id="facts" data-live>${factsOf(visit, { record, run, waiters })}</div>
      <div id="asked" data-live>${question !== undefined && askedOf(record, question)}</div>
      <div class="columns">
        ${run !== undefined && html`<section>${contextOf(visit, run)}</section>`}
        <section id="answer" data-live="${status}" data-act="a">${answer}</section>
      </div>
      <div id="elsewhere" data-live="${status}">
        ${status === 'WAITING' && mayComplete && fromElsewhere(visit, record)}
      </div>`,
  }
}

/** The answer, or a form for it, if the visitor may answer. */
async function answerPart(
  visit: Visit,
  record: TokenRecord,
  answered: Answered | undefined,
): Promise<readonly Html[]> {
  const { status, outputJson } = record
  if (status === 'COMPLETED')
    return [html`<h2>Answer</h2>`, block(indentedPlain(outputJson), { label: 'answer' })]
  if (status !== 'WAITING' || !(await may(visit, 'complete'))) return []
  const isAllowed = isApprover(questionOf(record) ?? {}, await personOf(visit))
  return [...(isAllowed ? [answerForm(visit, record, answered)] : []), changeForms(visit, record)]
}

function factsOf(
  visit: Visit,
  {
    record,
    run,
    waiters,
  }: {
    readonly record: TokenRecord
    readonly run: RunRecord | undefined
    readonly waiters: readonly string[]
  },
): Html {
  const { now } = visit
  const { status, createdAt, timeoutAt, completedAt, runId } = record
  const creator =
    runId === undefined
      ? undefined
      : html`<a class="id" href="${placeOf(visit, 'runs', runId)}">${short(runId)}</a>`
  return facts([
    ['Created', moment(createdAt, now)],
    ['Deadline', moment(timeoutAt, now)],
    ['Settled', completedAt === undefined ? undefined : moment(completedAt, now)],
    ['Created by run', creator],
    [status === 'TIMED_OUT' ? 'Withdrawn by' : 'Answered by', answererOf(record)],
    ['Reason', withdrawalOf(record)?.reason],
    ['Task', run?.taskId],
    ['Runs that wait for it', status === 'WAITING' ? waitingOf(visit, waiters) : undefined],
  ])
}

/** The one who answered, and how. */
export function answererOf(record: TokenRecord): string | undefined {
  const by = answeredBy(record)
  if (by === undefined) return undefined
  const { id, name = id, via } = by
  return short(name === undefined ? `via ${via}` : `${name}, via ${via}`)
}

function toldOf(record: TokenRecord, { kind, problem }: Answered): Html {
  const { status, completedAt } = record
  const at = completedAt === undefined ? '' : ` at ${isoOf(completedAt)}`
  if (kind === 'wrong' || kind === 'wrong change') {
    const done = kind === 'wrong' ? 'completed' : 'changed'
    return html`<p class="told bad" role="alert">The token was not ${done}: ${problem}</p>`
  }
  const why =
    status === 'COMPLETED'
      ? `another answer completed the token${at}. It is shown below`
      : `the token ${withdrawalOf(record) === undefined ? 'timed out' : 'was withdrawn'}${at}`
  const what = kind === 'lost' ? 'Your answer' : 'Your change'
  return html`<p class="told bad" role="alert">${what} came too late and changed nothing: ${why}.</p>`
}

function settledOf(record: TokenRecord, answered: Answered | undefined): Html | undefined {
  if (answered !== undefined) return undefined
  const { status, completedAt } = record
  const at = completedAt === undefined ? '' : ` at ${isoOf(completedAt)}`
  if (status === 'COMPLETED') return html`<p class="told good">The token was completed${at}.</p>`
  return html`<p class="told">
    ${withdrawalOf(record) === undefined ? `No answer came in time: the token timed out${at}.` : `The token was withdrawn${at}.`}
  </p>`
}

/** What a question asks, and of whom. */
function askedOf(record: TokenRecord, { message, data, approvers, onTimeoutText }: Question): Html {
  return html`<section id="question">
    <h2>Question</h2>
    ${message !== undefined && message !== nameOfToken(record) && html`<p class="message" dir="auto">${message}</p>`}
    ${data !== undefined && html`<div class="sheet about">${shownData(plainValue(data), new Wording())}</div>`}
    ${approvers !== undefined && html`<p class="soft">Who may answer: ${approvers.join(', ')}</p>`}
    ${onTimeoutText !== undefined && html`<p class="soft">Without an answer: ${onTimeoutText}</p>`}
  </section>`
}

function answerForm(visit: Visit, record: TokenRecord, answered: Answered | undefined): Html {
  const { id } = record
  const question = questionOf(record)
  if (question !== undefined) return questionForm(visit, { id, question, answered })
  return html`<h2>Answer</h2>
    <form method="post" action="${placeOf(visit, 'tokens', id)}/complete">
      ${formToken(visit)}
      <label
        >JSON, such as {"approved": true}. Empty: no output.<textarea
          name="output"
          spellcheck="false"
          autocapitalize="off"
          ${answered?.kind === 'wrong' && html`aria-invalid="true"`}
        >
${exactly(answered?.typed ?? '')}</textarea>
      </label>
      <p class="actions"><button class="main">Complete the token</button></p>
    </form>`
}

/** The form of a question, as its link has it. */
function questionForm(
  visit: Visit,
  {
    id,
    question,
    answered,
  }: { readonly id: string; readonly question: Question; readonly answered: Answered | undefined },
): Html {
  const view = {
    action: `${placeOf(visit, 'tokens', id)}/complete`,
    hidden: [['_token', visit.session.formToken] as const],
    idPrefix: 'answer-',
    ...(answered?.sent !== undefined && { typed: answered.sent }),
    ...(answered?.errors !== undefined && { errors: answered.errors }),
  }
  return html`<h2>Answer</h2>
    ${formOfQuestion(modelOf({ question }), view)}`
}

/** Forms of their own, so that Enter in a field does what its button says. */
function changeForms(visit: Visit, record: TokenRecord): Html {
  const { id } = record
  const form = (change: TokenChangeName, label: string, field: Html): Html =>
    html`<form method="post" action="${placeOf(visit, 'tokens', id)}/${change}">
      ${formToken(visit)}<label>${field}</label><button class="main">${label}</button>
    </form>`
  return html`<div class="actions">
    <details class="sure wide">
      <summary>Withdraw, extend, reassign…</summary>
      ${
        // Only a storage that can do it has the button.
        visit.inside.host.storage.timesOut === true &&
        form(
          'withdraw',
          'Withdraw: end the wait without an answer',
          html`Why, for those who were asked<input name="reason" maxlength="1000" />`,
        )
      }
      ${form(
        'extend',
        'Move the deadline',
        html`The new deadline, from now on, such as 2d, or an instant such as 2026-03-31T14:30Z<input
            name="timeout"
            required
          />`,
      )}
      ${form(
        'reassign',
        'Have others answer',
        html`Ids or roles, such as ann or role:lead, each on a line<textarea name="approvers" required>
${questionOf(record)?.approvers?.join('\n') ?? ''}</textarea>`,
      )}
    </details>
  </div>`
}

function waitingOf(visit: Visit, runs: readonly string[]): Html {
  if (runs.length === 0) return html`<span class="none">none</span>`
  const links = runs.map((id) => html`<a class="id" href="${placeOf(visit, 'runs', id)}">${id}</a> `)
  return html`${links}${runs.length === MOST_WAITING && html`<span class="soft">and maybe more</span>`}`
}

/** What the run was given, and what it says of itself: that is what the answer is about. */
function contextOf(visit: Visit, { id, payloadJson, metadataJson }: RunRecord): Html {
  const wholeOf = (name: string): string => `${placeOf(visit, 'runs', id)}/${name}.json`
  return html`<h2>Payload of its run</h2>
    ${block(indentedPlain(payloadJson), { label: 'payload', whole: wholeOf('payload') })}${
      metadataJson !== undefined &&
      html`<h2>Metadata of its run</h2>
        ${block(indentedText(metadataJson), { label: 'metadata', whole: wholeOf('metadata') })}`
    }`
}

/** The address of the token is a credential, so it is shown only to a visitor who may complete it. */
function fromElsewhere({ inside }: Visit, { id }: TokenRecord): Html | undefined {
  const { credentials } = inside
  if (credentials.baseUrl === undefined) return undefined
  const url = credentials.tokenUrl(id)
  const line = `curl -X POST '${url}' -H 'content-type: application/json' -d '{"approved": true}'`
  return html`<h2>From elsewhere</h2>
    <details>
      <summary>The address of the token, which completes it without a key</summary>
      <pre tabindex="0" role="region" aria-label="Command" id="curl">${line}</pre>
      <p class="actions"><button type="button" class="only-script" data-copy="curl">Copy</button></p>
    </details>`
}
