import { describe, expect, it } from 'vitest'
import { type AnsweredBy, type LinkedToken, question, type RunHandle, type Task, task } from 'waitpoint'
import { createHandler } from 'waitpoint/http'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import { exploreAll } from '../testing/exploration/bodies.ts'

const KEY = 'tr_dev_xxxxxxxx'
const HOUR = 3_600_000

const refund = question({ id: 'refund', message: 'Refund?', choices: ['approve', 'reject'], timeout: '70h' })

/** What is asked, and what people were told of it: which reminder, in which life of the process. */
interface Asked {
  readonly asking: Task<void, string>
  readonly mails: { readonly reminder: number; readonly life: number; readonly at: number }[]
  readonly token: () => Promise<LinkedToken>
}

function asks(t: ExplorationTools): Asked {
  const mails: Asked['mails'] = []
  let [token, lives]: [LinkedToken | undefined, number] = [undefined, 0]
  t.onRestart(() => void (lives += 1))
  const post = t.outside('mail', {
    send: (reminder: number, life: number) =>
      Promise.resolve(void mails.push({ reminder, life, at: t.clock.now() })),
  })
  const asking = task({
    id: 'asking',
    run: async () => {
      const answer = await refund.ask(undefined, {
        notify: (asked) => {
          ;({ token } = asked)
          return post.send(asked.reminder, lives)
        },
        remind: { after: '24h', times: 2 },
      })
      return answer.ok ? `${answer.output} by ${answer.by?.id ?? 'none'}` : 'no answer'
    },
  })
  t.use(asking)
  return {
    asking,
    mails,
    token: async () => {
      await t.waitingToken({ tag: refund.tag })
      while (token === undefined) await t.clock.sleep(1_000)
      return token
    },
  }
}

interface AskedBefore extends Asked {
  readonly askedAt: number
  readonly run: RunHandle<string>
  readonly id: string
}

/** What was asked so long ago, beside a second engine. */
async function askedBefore(t: ExplorationTools, ms: number): Promise<AskedBefore> {
  const asked = asks(t)
  const askedAt = t.clock.now()
  const run = await t.engine.trigger(asked.asking)
  t.startEngine('other')
  const { id } = await t.waitingToken({ tag: refund.tag })
  await t.clock.sleep(ms)
  return { ...asked, askedAt, run, id }
}

/** Each reminder once: again only if its process has died, and never after the next one, nor before it is due. */
function expectOnce({ mails, askedAt }: Pick<AskedBefore, 'mails' | 'askedAt'>): void {
  for (const [at, { reminder, life, at: sentAt }] of mails.entries()) {
    const before = mails[at - 1]
    const isNext = reminder === (before?.reminder ?? -1) + 1
    const isAgain = reminder === before?.reminder && life > before.life
    if (!isNext && !isAgain) throw new Error(`sent ${JSON.stringify(mails)}`)
    if (sentAt < askedAt + reminder * 24 * HOUR) throw new Error(`sent early: ${JSON.stringify(mails)}`)
  }
}

interface Told {
  readonly success: boolean
  readonly status: string
  readonly by?: AnsweredBy
}

/** Answers over HTTP, again if the response is lost or the process dies. */
async function sent(fetch: ReturnType<ExplorationTools['serve']>, id: string, body: object): Promise<Told> {
  for (;;) {
    const response = await fetch(`/api/v1/waitpoints/tokens/${id}/complete`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).catch(() => undefined)
    if (response?.ok === true) return (await response.json()) as Told
    if (response?.status === 422) throw Object.assign(new Error('refused'), { code: 'ERR_OUTPUT_INVALID' })
  }
}

/** The answer by the link, as a page. */
async function linked(
  fetch: ReturnType<ExplorationTools['serve']>,
  link: string,
  answer: number,
): Promise<string> {
  for (;;) {
    const body = new URLSearchParams({ form: '1', answer: String(answer) })
    const response = await fetch(link, { method: 'POST', body }).catch(() => undefined)
    if (response?.ok === true) return response.text()
  }
}

const race: Body = async (t) => {
  const asked = asks(t)
  const run = await t.engine.trigger(asked.asking)
  const fetch = t.serve((engine) => createHandler(engine), t.startEngine('web', { execute: false }))
  const token = await asked.token()
  const refused = await sent(fetch, token.id, { output: 'maybe' }).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'ERR_OUTPUT_INVALID' })
  expect((await t.elsewhere.wait.retrieveToken(token)).status).toBe('WAITING')
  const [ann, bo, page] = await Promise.all([
    t.clock.sleep(1).then(() => t.elsewhere.wait.completeToken(token, 'approve', { by: { id: 'ann' } })),
    sent(fetch, token.id, { output: 'reject', by: { id: 'bo' } }),
    linked(fetch, token.linkFor({ id: 'cyd' }), 1),
  ])
  const { status, output, answeredBy } = await t.elsewhere.wait.retrieveToken(token)
  expect(status).toBe('COMPLETED')
  for (const told of [ann, bo]) expect(told).toMatchObject({ status: 'COMPLETED', by: answeredBy })
  if (ann.success) expect(answeredBy).toEqual({ id: 'ann', via: 'call' })
  if (bo.success) expect(answeredBy).toEqual({ id: 'bo', via: 'http' })
  expect(page).toContain(page.includes('Thank you') ? 'cyd' : `by ${answeredBy?.id ?? ''}`)
  expect(output).toBe(answeredBy?.id === 'ann' ? 'approve' : 'reject')
  expect(await run.result()).toBe(`${String(output)} by ${answeredBy?.id ?? 'none'}`)
  for (const id of ['ann', 'bo or cyd']) t.sometimes(`${id} wins`, id.includes(answeredBy?.id ?? '-'))
}

const reminded: Body = async (t) => {
  const { run, id, ...asked } = await askedBefore(t, 30 * HOUR)
  const { success } = await t.elsewhere.wait.completeToken(id, 'approve', { by: { id: 'ann' } })
  const answeredAt = t.clock.now()
  expect([success, await run.result()]).toEqual([true, 'approve by ann'])
  expectOnce(asked)
  const last = asked.mails.at(-1)?.reminder ?? -1
  expect(last).toBeLessThanOrEqual((answeredAt - asked.askedAt) / (24 * HOUR))
  t.sometimes('it was reminded of', last === 1)
}

const unanswered: Body = async (t) => {
  const { run, id, ...asked } = await askedBefore(t, 75 * HOUR)
  // Late and wrong is late.
  expect(await t.elsewhere.wait.completeToken(id, 'maybe')).toEqual({ success: false, status: 'TIMED_OUT' })
  expect(await run.result()).toBe('no answer')
  expectOnce(asked)
  t.sometimes('it was reminded of twice', asked.mails.at(-1)?.reminder === 2)
}

describe('a question, in every schedule with one departure and a crash before and after every write', () => {
  it.each([
    ['of which each is refused or told the one winner', race],
    ['of which people are reminded, each time once, until it is answered', reminded],
    ['that is not answered in time', unanswered],
  ])('%s', async (_what, body) => {
    const options = { crashes: 'every-commit', maxDeviations: 1, secretKey: KEY } as const
    const { complete } = await exploreAll(body, { ...options, baseUrl: 'http://localhost' })
    expect(complete).toBe(true)
  })
})
