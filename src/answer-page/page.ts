import { sha256 } from '../primitives/digest.ts'
import { html, type Html } from '../primitives/html.ts'
import { answerForm, type AnswerFormView } from './controls.ts'
import { shortAnswer, shownAnswer, shownData } from './data.ts'
import { cut, type FormModel } from './form.ts'
import { styleOf } from './style.ts'
import { type AnswerPageOptions, Wording } from './texts.ts'

/** The person that a link is for, or that has answered. */
export interface AnswerPerson {
  readonly id?: string
  readonly name?: string
  readonly via?: string
}

/** What is asked. */
export interface AskedQuestion {
  readonly message: string
  readonly data?: unknown
  /** @unit epoch milliseconds */
  readonly timeoutAt?: number
  /** What no answer means, for people. */
  readonly onTimeoutText?: string
}

/** The page of a question that can be answered, or that its reader may not answer. */
export interface AnswerView extends AnswerFormView {
  readonly question: AskedQuestion
  readonly model: FormModel
  /** @unit epoch milliseconds */
  readonly now: number
  /** The person that the link is for. */
  readonly person?: AnswerPerson
  /** Why the reader may not answer: there is no form then. */
  readonly refused?: string
}

/** How a question ended. `reader`: whether the one that reads this has just answered, has just lost, or only looks. */
export type AnswerOutcome =
  | {
      readonly kind: 'answered'
      readonly reader: 'won' | 'lost' | 'looks'
      readonly answer?: unknown
      readonly by?: AnswerPerson
      readonly at?: number
    }
  | { readonly kind: 'timed-out'; readonly reader: 'lost' | 'looks'; readonly at?: number }
  | {
      readonly kind: 'withdrawn'
      readonly reader: 'lost' | 'looks'
      readonly by?: AnswerPerson
      readonly at?: number
      readonly reason?: string
    }

/** The page of a question that has ended. */
export interface DoneView {
  readonly question: AskedQuestion
  readonly outcome: AnswerOutcome
  /** The form that was answered with: its labels are those of the answer. */
  readonly model?: FormModel
  /** @unit epoch milliseconds */
  readonly now: number
}

/** A longer first line of a message is not its title. */
const MOST_OF_A_TITLE = 200
const MOST_OF_A_MESSAGE = 20_000

/** The page on which a question is answered: a whole document, without a script. */
export function answerPage(view: AnswerView, options?: AnswerPageOptions): string {
  const { question, model, person, refused, errors = [] } = view
  const wording = new Wording(options)
  const { texts } = wording
  const name = nameOf(person)
  const footer = name === undefined ? wording.say('once') : wording.say('oncePerson', { person: name })
  const body =
    refused === undefined
      ? html`${lead(view, wording)} ${details(question, wording)} ${answerForm(model, view, wording)}
          <footer>${footer}</footer>`
      : html`${details(question, wording)}`
  const notice =
    refused !== undefined && settled({ icon: INFO, title: texts.refused, notes: [html`${refused}`] })
  return documentOf({
    title: errors.length > 0 ? `${texts.problems}: ${titleOf(question)}` : titleOf(question),
    body: html`${from(wording, name)} ${notice} ${heading(question, wording)} ${body}`,
    wording,
  })
}

/** The page that says how a question ended. */
export function donePage(view: DoneView, options?: AnswerPageOptions): string {
  const wording = new Wording(options)
  const { question } = view
  const notice = outcomeOf(view, wording)
  return documentOf({
    title: `${notice.title} · ${titleOf(question)}`,
    body: html`${from(wording)} ${settled(notice)} ${heading(question, wording)} ${details(question, wording)}
    ${answerOf(view, wording)}`,
    wording,
  })
}

/** The headers that have to be sent with a page: nothing is loaded from elsewhere, nothing kept, nothing told to others. */
export function answerPageHeaders(page: string): Readonly<Record<string, string>> {
  const style = page.slice(page.indexOf(STYLE_START) + STYLE_START.length, page.indexOf(STYLE_END))
  const policy = [
    `default-src 'none'`,
    `style-src 'sha256-${sha256(style, 'base64')}'`,
    `img-src 'self' data:`,
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'x-robots-tag': 'noindex, nofollow',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  }
}

const STYLE_START = '<style>'
const STYLE_END = '</style>'

interface PageDocument {
  readonly title: string
  readonly body: Html
  readonly wording: Wording
}

function documentOf({ title, body, wording }: PageDocument): string {
  const { brand, lang } = wording
  const head = html`<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex, nofollow" />
    <meta name="referrer" content="no-referrer" />
    <meta name="format-detection" content="telephone=no" />`
  // The style is the first element with a text: its hash is that of the policy.
  const style = `${STYLE_START}${styleOf(brand.accent)}${STYLE_END}`
  const rest = html`<title>${cut(title, MOST_OF_A_TITLE)} · ${brand.name}</title>
    <link rel="icon" href="data:," />`
  const language = html`lang="${lang}" dir="${RIGHT_TO_LEFT.test(lang) ? 'rtl' : 'ltr'}"`
  const main = html`<main>${body}</main>`
  return `<!doctype html><html ${language.toString()}><head>${head.toString()}${style}${rest.toString()}</head><body>${main.toString()}</body></html>`
}

/** Languages that are written from the right. */
const RIGHT_TO_LEFT = /^(?:ar|dv|fa|he|ps|sd|ug|ur|yi)\b/

const RING = html`<svg viewBox="0 0 16 16" aria-hidden="true">
  <circle cx="8" cy="8" r="5.8" />
  <circle cx="8" cy="8" r="1.8" fill="currentColor" stroke="none" />
</svg>`
const TICK = html`<svg viewBox="0 0 16 16" aria-hidden="true">
  <circle cx="8" cy="8" r="6.4" />
  <path d="M5.2 8.2l2 2 3.6-4" />
</svg>`
const CLOCK = html`<svg viewBox="0 0 16 16" aria-hidden="true">
  <circle cx="8" cy="8" r="6.4" />
  <path d="M8 4.8V8l2.2 1.6" />
</svg>`
const INFO = html`<svg viewBox="0 0 16 16" aria-hidden="true">
  <circle cx="8" cy="8" r="6.4" />
  <path d="M8 7.5v3.3M8 5.2v.1" />
</svg>`

function from(wording: Wording, person?: string): Html {
  const { brand } = wording
  const sentence =
    person === undefined
      ? wording.say('asks', { brand: brand.name })
      : wording.say('asksPerson', { brand: brand.name, person })
  const logo = brand.logoUrl === undefined ? RING : html`<img src="${ownImage(brand.logoUrl)}" alt="" />`
  return html`<p class="from" dir="auto">${logo}<span>${sentence}</span></p>`
}

/** @throws TypeError for an image that comes from elsewhere: its server would learn who reads the page. */
function ownImage(url: string): string {
  if (/^\/(?![/\\])[^\s\\]*$/.test(url) || /^data:image\/[a-z+.-]+[;,]/.test(url)) return url
  throw new TypeError(
    `Cannot show the logo "${url.slice(0, 80)}": write a path of this server, or a data: address of an image`,
  )
}

function heading({ message }: AskedQuestion, wording: Wording): Html {
  const { first, rest } = partsOf(message)
  const shown = cut(rest, MOST_OF_A_MESSAGE)
  const counts = { shown: wording.number(MOST_OF_A_MESSAGE), count: wording.number(rest.length) }
  return html`<h1 dir="auto">${first}</h1>
    ${rest !== '' && html`<p class="message" dir="auto">${shown}</p>`}
    ${rest.length > MOST_OF_A_MESSAGE && html`<p class="hint">${wording.say('cut', counts)}</p>`}`
}

/** The first line of a message is its title, if it is short. */
function partsOf(message: string): { readonly first: string; readonly rest: string } {
  const text = message.trim()
  const end = text.search(/[\r\n]/)
  const line = end < 0 ? text : text.slice(0, end)
  if (line.length > MOST_OF_A_TITLE) return { first: cut(line, 120), rest: text }
  return { first: line === '' ? '…' : line, rest: text.slice(line.length).trim() }
}

function titleOf({ message }: AskedQuestion): string {
  return cut(partsOf(message).first, 80)
}

function lead({ question, now }: AnswerView, wording: Wording): Html {
  const { timeoutAt, onTimeoutText } = question
  const deadline =
    timeoutAt !== undefined &&
    wording.say('answerBy', {
      time: html`<b>${wording.moment(timeoutAt, now)}</b>`,
      inTime: wording.fromNow(timeoutAt, now),
    })
  const otherwise =
    onTimeoutText !== undefined &&
    html`<span dir="auto"
      >${wording.say('noAnswer', { text: cut(onTimeoutText, MOST_OF_A_TITLE * 5) })}</span
    >`
  return html`<p class="lead">${deadline} ${otherwise}</p>`
}

function details({ data }: AskedQuestion, wording: Wording): Html {
  const shown = shownData(data, wording)
  return html`${
    shown !== undefined &&
    html`<section class="sheet" aria-label="${wording.texts.details}">${shown}</section>`
  }`
}

function answerOf({ outcome, model }: DoneView, wording: Wording): Html {
  if (outcome.kind !== 'answered' || outcome.answer === undefined) return html``
  const form = model ?? { kind: 'json', because: '' }
  if (shortAnswer(form, outcome.answer, wording) !== undefined) return html``
  const shown = shownAnswer(form, outcome.answer, wording)
  return html`${
    shown !== undefined &&
    html`<h2>${wording.texts.theAnswer}</h2>
      <section class="sheet">${shown}</section>`
  }`
}

interface Notice {
  readonly icon: Html
  readonly title: string
  readonly notes: readonly Html[]
  readonly isGood?: boolean
}

function settled({ icon, title, notes, isGood = false }: Notice): Html {
  return html`<div class="settled ${isGood && 'good'}" role="status">
    ${icon}
    <div>
      <strong dir="auto">${title}</strong>
      ${notes.map((note) => html`<p dir="auto">${note}</p>`)}
    </div>
  </div>`
}

/** The texts of an answer that say it in a word, and those that do not. */
const ANSWERED = {
  won: ['thanksFor', 'thanks'],
  lost: ['answeredBeforeWith', 'answeredBefore'],
  looks: ['answeredWith', 'answered'],
} as const

function outcomeOf({ outcome, model, question, now }: DoneView, wording: Wording): Notice {
  const { texts } = wording
  const notes = [signature(outcome, { now, wording })]
  if (outcome.reader === 'lost') notes.push(wording.say('changedNothing'))
  if (outcome.kind === 'answered') {
    const { answer, reader } = outcome
    const word = model && shortAnswer(model, answer, wording)
    const [withWord, without] = ANSWERED[reader]
    const title = word === undefined ? texts[without] : wording.plain(withWord, { answer: cut(word) })
    if (reader === 'won') notes.push(wording.say('canClose'))
    return { icon: reader === 'lost' ? INFO : TICK, title, notes, isGood: reader === 'won' }
  }
  const { onTimeoutText } = question
  const otherwise =
    onTimeoutText === undefined ? undefined : wording.plain('noAnswer', { text: onTimeoutText })
  const said = outcome.kind === 'withdrawn' ? outcome.reason : otherwise
  if (said !== undefined) notes.unshift(html`<span class="said">${cut(said, MOST_OF_A_TITLE * 5)}</span>`)
  const title = outcome.kind === 'withdrawn' ? texts.withdrawn : texts.timedOut
  return { icon: outcome.kind === 'withdrawn' ? INFO : CLOCK, title, notes }
}

/** When, by whom, and by what way. */
function signature(
  outcome: AnswerOutcome,
  { now, wording }: { readonly now: number; readonly wording: Wording },
): Html {
  const by = 'by' in outcome ? outcome.by : undefined
  const name = nameOf(by)
  const parts = [
    outcome.at !== undefined &&
      html`${wording.moment(outcome.at, now)} (${wording.fromNow(outcome.at, now)})`,
    name !== undefined && wording.say('by', { person: name }),
    by?.via !== undefined && wording.say('via', { via: cut(by.via, 80) }),
  ].filter((part) => part !== false)
  return html`${parts.map((part, at) => html`${at > 0 && ', '}${part}`)}`
}

function nameOf(person: AnswerPerson | undefined): string | undefined {
  const name = person?.name ?? person?.id
  return name === undefined ? undefined : cut(name, 120)
}
