import type { HonoRequest } from 'hono'
import type { SentField } from '../answer-page/values.ts'
import { WaitpointError } from '../api/errors.ts'
import type { Answerer, Person } from '../api/question.ts'
import type { RetrievedToken } from '../api/token.ts'
import { UnknownAnswerer } from '../core/inside.ts'
import { areEqualSecrets } from './access/equal-secrets.ts'
import { answerByForm } from './answer-form.ts'
import type { Content, Parameter } from './operation.ts'
import { Refusal } from './refusal.ts'
import { checkAnnouncedLength, readBody } from './requests/body.ts'
import { mediaTypeOf } from './requests/content-type.ts'
import { urlEncodedFields } from './requests/form.ts'
import { group, type Route, route, type RouteGroup } from './route.ts'
import type { RouteContext } from './route-context.ts'

const PAGE: Content = { 'text/html': { type: 'string' } }
const PARAMETERS: readonly Parameter[] = [
  { name: 'id', in: 'path', description: 'The id of the token: `waitpoint_…`.' },
  {
    name: 'proof',
    in: 'path',
    description: 'Proves that the engine gave the link out, and for which person.',
  },
]
const WRONG = { description: 'No such link, or the token is kept no longer.', content: PAGE }
const NOT_FOR_YOU = { description: 'The link is not for an approver of the question.', content: PAGE }
const BY_LINK = new UnknownAnswerer('link')

/** What a link says: its token, and the person that it was made for. */
interface Link {
  readonly id: string
  readonly person: Person | undefined
}

const routes: readonly Route<RouteContext>[] = [
  route(
    'GET /answer/:id/:proof',
    {
      id: 'showQuestion',
      tag: 'Tokens',
      summary: 'Show the page of a link to answer',
      description:
        'The address is `token.link`. A page for people: what is asked and a form, or how it ended. Changes nothing.',
      allowed: 'address',
      parameters: PARAMETERS,
      answers: { 200: { description: 'The page.', content: PAGE }, 403: NOT_FOR_YOU, 404: WRONG },
    },
    (context) => {
      const { pages } = context
      return (c) =>
        byLink(context, c.req, ({ token, person }) =>
          pages.show({ token, person, ...(!mayAct(context, token, person) && { status: 403 }) }),
        )
    },
  ),
  route(
    'POST /answer/:id/:proof',
    {
      id: 'answerQuestion',
      tag: 'Tokens',
      summary: 'Answer with the form of a link',
      description: 'What the form of the page sends. The answer is a page: the first answer counts.',
      allowed: 'address',
      parameters: PARAMETERS,
      body: {
        required: true,
        content: { 'application/x-www-form-urlencoded': { type: 'object', additionalProperties: true } },
      },
      answers: {
        200: { description: 'The page, which says how it ended.', content: PAGE },
        403: NOT_FOR_YOU,
        404: WRONG,
        413: { description: 'The form again: the answer is too large.', content: PAGE },
        422: { description: 'The form again, with what is wrong.', content: PAGE },
      },
      refused: [400],
    },
    (context) => (c) =>
      byLink(context, c.req, async (asked) => {
        try {
          return await answer(context, c.req.raw, asked)
        } catch (error) {
          if (!(error instanceof Refusal) || error.status !== 413) throw error
          // A form that is too large was sent by a person, who reads the page.
          const { status, message } = error
          return context.pages.show({ ...asked, status, errors: [{ path: [], message }] })
        }
      }),
  ),
]

interface Asked {
  readonly token: RetrievedToken<unknown>
  readonly person: Person | undefined
}

/** Lets a caller in whose link is right, and finds its token. All others get one page. */
async function byLink(
  { inside, gate, pages, stored }: RouteContext,
  req: HonoRequest<'/answer/:id/:proof'>,
  serve: (asked: Asked) => Promise<Response>,
): Promise<Response> {
  try {
    const { raw: request } = req
    const { id, proof } = req.param()
    let link: Link | undefined
    // Before any lookup: a caller with a wrong address must not learn whether the token exists.
    await gate.enterBy(request, `link ${id}`, () => {
      link = linkOf({ id, proof }, (named) => inside.credentials.linkProof(id, named))
      if (link === undefined) throw new Refusal(404, 'Not found')
    })
    return await serve({ token: await stored.wait.retrieveToken(id), person: link?.person })
  } catch (error) {
    const isUnknown =
      error instanceof Refusal
        ? error.status === 404
        : error instanceof WaitpointError && error.code === 'ERR_TOKEN_NOT_FOUND'
    if (!isUnknown) throw error
    return pages.unknown()
  }
}

/** `undefined` for a link that no engine has given out. */
function linkOf(
  { id, proof }: { readonly id: string; readonly proof: string },
  proofOf: (named: string) => string,
): Link | undefined {
  const named = proof.slice(0, proof.lastIndexOf('.') + 1)
  if (!areEqualSecrets(proof.slice(named.length), proofOf(named)) || !/^waitpoint_\w{1,64}$/.test(id))
    return undefined
  if (named === '') return { id, person: undefined }
  // The engine wrote it: its proof is right.
  return { id, person: JSON.parse(Buffer.from(named, 'base64url').toString()) as Person }
}

/** Whether the reader may answer, if there is anything to answer. */
function mayAct(
  { pages }: RouteContext,
  token: RetrievedToken<unknown>,
  person: Person | undefined,
): boolean {
  return token.status !== 'WAITING' || pages.mayAnswer(token, person)
}

async function answer(context: RouteContext, request: Request, asked: Asked): Promise<Response> {
  const { engine, stored, pages, limits, turns } = context
  const { token, person } = asked
  if (!mayAct(context, token, person)) return pages.show({ ...asked, status: 403 })
  const typed = await sentFields(request, limits.otherBytes)
  await turns.next()
  if (token.status !== 'WAITING') return pages.show({ ...asked, reader: 'lost' })
  const by: Answerer = person === undefined ? BY_LINK : { ...person, via: 'link' }
  const { options } = pages
  const outcome = await answerByForm(engine, { token, by, fields: typed, options, turns })
  // A form may take long to arrive: what is wrong and late is late.
  const now = { token: await stored.wait.retrieveToken(token), person }
  if (outcome.kind === 'won') return pages.show({ ...now, reader: 'won' })
  if (now.token.status !== 'WAITING') return pages.show({ ...now, reader: 'lost' })
  if (outcome.kind === 'more') return pages.show({ ...now, typed })
  return outcome.kind === 'errors'
    ? pages.show({ ...now, typed, errors: outcome.errors, status: 422 })
    : pages.show({ ...now, status: 403 })
}

/** What a form has sent: nothing, for what is no form. */
async function sentFields(request: Request, limitBytes: number): Promise<readonly SentField[]> {
  checkAnnouncedLength(request, limitBytes)
  const body = await readBody(request, limitBytes)
  const contentType = request.headers.get('content-type') ?? ''
  return mediaTypeOf(contentType) === 'application/x-www-form-urlencoded'
    ? urlEncodedFields(body, contentType)
    : []
}

/** The page of a link to answer. See docs/ask-a-person.md. */
export const ANSWER_ROUTES: RouteGroup = group(routes, (context) => context)
