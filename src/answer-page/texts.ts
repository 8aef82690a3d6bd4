import { LAST_INSTANT } from '../primitives/duration.ts'
import { html, type Html, type Piece } from '../primitives/html.ts'

/** The texts of the page. What stands in braces is filled in; a text may leave it out. */
export const ENGLISH = {
  asks: '{brand} asks',
  asksPerson: '{brand} asks {person}',
  answerBy: 'Please answer by {time}, {inTime}.',
  noAnswer: 'Without an answer: {text}',
  details: 'Details',
  yourAnswer: 'Your answer',
  send: 'Send my answer',
  yes: 'Yes',
  no: 'No',
  noValue: 'No answer',
  optional: 'optional',
  choose: 'Choose…',
  row: '{label}, row {number}',
  moreRows: 'More rows',
  mostRows: 'At most {count} rows.',
  inTimeZone: 'Time zone: {timeZone}',
  from: 'from {bound}',
  upTo: 'up to {bound}',
  above: 'more than {bound}',
  below: 'less than {bound}',
  mostCharacters: 'up to {count} characters',
  json: 'This page has no form for the answer: {because}. Please write it as JSON.',
  jsonLabel: 'Your answer as JSON',
  jsonSchema: 'What the answer must look like (JSON Schema)',
  once: 'This link answers once, and the first answer counts. Please do not pass it on.',
  oncePerson: 'This link is for {person}. The first answer counts. Please do not pass it on.',
  cut: 'Shown are the first {shown} of {count} characters.',
  moreEntries: 'and {count} more',
  problems: 'Your answer is not sent yet',
  problem: '{label}: {message}',
  nothingSent: 'No answer was sent. Please answer here.',
  needed: 'Please fill this in.',
  neededChoice: 'Please choose one.',
  notNumber: 'Please write a number, such as 12.5.',
  notInteger: 'Please write a whole number.',
  notExact: 'This number has too many digits.',
  notDate: 'Please write a date, such as 2026-03-31.',
  notDateTime: 'Please write a date and a time, such as 2026-03-31T14:30.',
  notTime: 'Please write a time, such as 14:30.',
  notChoice: 'This choice is not one of those that are here.',
  notJson: 'This is not JSON: {message}',
  thanks: 'Thank you. Your answer is sent.',
  thanksFor: 'Thank you. Your answer “{answer}” is sent.',
  canClose: 'You can close this page.',
  answered: 'This is answered.',
  answeredWith: 'This is answered: “{answer}”.',
  answeredBefore: 'This was answered before you.',
  answeredBeforeWith: 'This was answered before you: “{answer}”.',
  changedNothing: 'Your answer changed nothing.',
  theAnswer: 'The answer',
  timedOut: 'The time to answer has ended.',
  withdrawn: 'This question was withdrawn.',
  refused: 'You cannot answer here',
  noMessage: 'A task waits for an answer.',
  noQuestion: 'There is no question here',
  wrongLink: 'The address is not complete, or the question is kept no longer.',
  notApprover: 'Others have to answer this question.',
  by: 'by {person}',
  via: 'via {via}',
} as const

/** Every text of the page. */
export type AnswerTexts = Readonly<Record<keyof typeof ENGLISH, string>>

/** What an application may say about the pages. */
export interface AnswerPageOptions {
  /**
   * Texts instead of the English ones.
   *
   * @default English
   */
  readonly texts?: Partial<AnswerTexts>
  /**
   * The language of the texts, of times and of numbers: `de`, `pt-BR`.
   *
   * @default `'en'`
   */
  readonly lang?: string
  /**
   * The time zone in which times are shown and read.
   *
   * @default `'UTC'`
   */
  readonly timeZone?: string
  readonly brand?: {
    /** @default `'waitpoint'` */
    readonly name?: string
    /** A path of this server, or a `data:` address of an image: a page loads nothing from elsewhere. */
    readonly logoUrl?: string
    /** A color such as `#3548c8`. */
    readonly accent?: string
  }
}

/** The options of pages with all that was left out, and how they say things. */
export class Wording {
  readonly texts: AnswerTexts
  readonly lang: string
  readonly timeZone: string
  readonly brand: NonNullable<AnswerPageOptions['brand']> & { readonly name: string }

  constructor({ texts = {}, lang = 'en', timeZone = 'UTC', brand = {} }: AnswerPageOptions = {}) {
    this.texts = { ...ENGLISH, ...texts }
    this.lang = lang
    this.timeZone = timeZone
    this.brand = { ...brand, name: brand.name ?? 'waitpoint' }
  }

  /** A text of the table with its places filled in, as markup. */
  say(name: keyof AnswerTexts, pieces: Readonly<Record<string, Piece>> = {}): Html {
    const parts = this.texts[name].split(/\{(\w+)\}/)
    return html`${parts.map((part, at) => (at % 2 === 0 ? part : (pieces[part] ?? '')))}`
  }

  /** A text of the table with its places filled in, as text. */
  plain(name: keyof AnswerTexts, pieces: Readonly<Record<string, string | number>> = {}): string {
    return this.texts[name].replace(/\{(\w+)\}/g, (_, place: string) => String(pieces[place] ?? ''))
  }

  number(value: number): string {
    return value.toLocaleString(this.lang, { maximumFractionDigits: 20 })
  }

  /** An instant for people, in the time zone of the page; its date is left out on the same day. */
  moment(at: number, now: number): Html {
    // A storage may keep a number that is no instant.
    if (Math.abs(at) > LAST_INSTANT) return html`${at}`
    const day = (instant: number): string => this.#format(instant, { dateStyle: 'short' })
    const date = { weekday: 'short', day: 'numeric', month: 'long', year: 'numeric' } as const
    const time = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const
    const text = this.#format(at, day(at) === day(now) ? time : { ...date, ...time })
    return html`<time datetime="${new Date(at).toISOString()}">${text}</time>`
  }

  /** `in 47 minutes`, `2 days ago`, `now`. */
  fromNow(at: number, now: number): string {
    const ms = at - now
    const [size, unit] = UNITS.find(([least]) => Math.abs(ms) >= least) ?? LAST_UNIT
    const count = Math.trunc(ms / size)
    return new Intl.RelativeTimeFormat(this.lang, { numeric: count === 0 ? 'auto' : 'always' }).format(
      count,
      unit,
    )
  }

  #format(at: number, options: Intl.DateTimeFormatOptions): string {
    return new Intl.DateTimeFormat(this.lang, { ...options, timeZone: this.timeZone }).format(at)
  }
}

const LAST_UNIT = [1_000, 'second'] as const
const UNITS = [[86_400_000, 'day'], [3_600_000, 'hour'], [60_000, 'minute'], LAST_UNIT] as const
