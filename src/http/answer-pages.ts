import { answerForm } from '../answer-page/controls.ts'
import { formOf, type FormModel } from '../answer-page/form.ts'
import {
  type AnswerOutcome,
  answerPage,
  answerPageHeaders,
  type AskedQuestion,
  donePage,
} from '../answer-page/page.ts'
import { type AnswerPageOptions, Wording } from '../answer-page/texts.ts'
import type { AnswerError, SentField } from '../answer-page/values.ts'
import type { Person } from '../api/question.ts'
import type { RetrievedToken } from '../api/token.ts'
import type { Inside } from '../core/inside.ts'
import { isApprover } from '../questions/approvers.ts'
import { modelOf } from './answer-form.ts'
import { type OptionNames, requireFunction, requireOptions } from '../primitives/require.ts'

/** What the reader of a page has to do with the answer: has just given it, has just come too late, or only looks. */
export type Reader = 'won' | 'lost' | 'looks'

/** What a page of one's own shows. */
export interface RenderedQuestion {
  readonly token: RetrievedToken<unknown>
  /** The person that the link is for. */
  readonly person?: Person
  readonly reader: Reader
  /** The form as markup, with what was sent before and what is wrong with it; absent if there is nothing to answer. */
  readonly form?: string
}

/** Makes the HTML page of a question. */
export type RenderQuestion = (asked: RenderedQuestion) => string | Promise<string>

/** One visit by a link. */
export interface LinkVisit {
  readonly token: RetrievedToken<unknown>
  readonly person: Person | undefined
  /** @default 'looks' */
  readonly reader?: Reader
  readonly status?: number
  readonly typed?: readonly SentField[]
  readonly errors?: readonly AnswerError[]
}

interface PagesOptions {
  readonly answerPage?: AnswerPageOptions
  readonly renderQuestion?: RenderQuestion
}

const NAMES: OptionNames<AnswerPageOptions> = { texts: true, lang: true, timeZone: true, brand: true }
/** A page of one's own may load what it likes, and can be framed no more than ours. */
const OWN_POLICY = `base-uri 'none'; form-action 'self'; frame-ancestors 'none'`

/** The pages on which people answer tokens. */
export class AnswerPages {
  readonly options: AnswerPageOptions
  readonly #host: Pick<Inside['host'], 'now'>
  readonly #render: RenderQuestion | undefined
  readonly #unknown: string

  /** @throws TypeError or RangeError for options that cannot be used. */
  constructor(host: Pick<Inside['host'], 'now'>, { answerPage: options = {}, renderQuestion }: PagesOptions) {
    requireOptions(options, 'answerPage', NAMES)
    requireFunction(renderQuestion, 'renderQuestion')
    this.options = options
    this.#host = host
    this.#render = renderQuestion
    const wording = new Wording(options)
    // Refuses a language and a time zone that are none.
    wording.moment(0, 0)
    const { texts } = wording
    const question = { message: texts.noQuestion }
    // Drawn once: strangers ask for it.
    this.#unknown = answerPage({ question, model: formOf({}), now: 0, refused: texts.wrongLink }, options)
  }

  /** What answers an address that no engine has given out. It does not say whether there is such a token. */
  unknown(): Response {
    return respond(this.#unknown, 404)
  }

  /** Whether a person may answer. The completion asks once more. */
  mayAnswer({ question = {} }: RetrievedToken<unknown>, person: Person | undefined): boolean {
    return isApprover(question, person)
  }

  async show(visit: LinkVisit): Promise<Response> {
    const { token, person, reader = 'looks', status = 200 } = visit
    const page =
      token.status === 'WAITING' ? this.#asking(visit, modelOf(token)) : this.#settled(token, reader)
    if (this.#render === undefined) return respond(page, status)
    const canAnswer = token.status === 'WAITING' && this.mayAnswer(token, person)
    const own = await this.#render({
      token,
      reader,
      ...(person !== undefined && { person }),
      ...(canAnswer && { form: answerForm(modelOf(token), visit, this.options).toString() }),
    })
    return respond(own, status, OWN_POLICY)
  }

  #asking({ token, person, typed, errors }: LinkVisit, model: FormModel): string {
    const { texts } = new Wording(this.options)
    return answerPage(
      {
        question: this.#asked(token),
        model,
        now: this.#host.now(),
        ...(person !== undefined && { person }),
        ...(typed !== undefined && { typed }),
        ...(errors !== undefined && { errors }),
        ...(!this.mayAnswer(token, person) && { refused: texts.notApprover }),
      },
      this.options,
    )
  }

  #settled(token: RetrievedToken<unknown>, reader: Reader): string {
    const view = {
      question: this.#asked(token),
      outcome: outcomeOf(token, reader),
      model: modelOf(token),
      now: this.#host.now(),
    }
    return donePage(view, this.options)
  }

  #asked({ question = {}, timeoutAt }: RetrievedToken<unknown>): AskedQuestion {
    const { message = new Wording(this.options).texts.noMessage, data, onTimeoutText } = question
    return {
      message,
      timeoutAt: timeoutAt.getTime(),
      ...(data !== undefined && { data }),
      ...(onTimeoutText !== undefined && { onTimeoutText }),
    }
  }
}

function outcomeOf(token: RetrievedToken<unknown>, reader: Reader): AnswerOutcome {
  const { status, output, answeredBy, completedAt, timeoutAt, withdrawn } = token
  if (status === 'TIMED_OUT') {
    const ended = { reader: reader === 'won' ? 'looks' : reader, at: timeoutAt.getTime() } as const
    if (withdrawn === undefined) return { kind: 'timed-out', ...ended }
    const { reason, ...by } = withdrawn
    return { kind: 'withdrawn', ...ended, by, ...(reason !== undefined && { reason }) }
  }
  return {
    kind: 'answered',
    reader,
    ...(output !== undefined && { answer: output }),
    ...(answeredBy !== undefined && { by: answeredBy }),
    ...(completedAt !== undefined && { at: completedAt.getTime() }),
  }
}

function respond(page: string, status: number, policy?: string): Response {
  const headers = answerPageHeaders(page)
  const own = policy === undefined ? headers : { ...headers, 'content-security-policy': policy }
  return new Response(page, { status, headers: own })
}
