import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import { type TestEngine, testClock } from 'waitpoint/testing'
import { inNextTurn } from '../../src/clock/macrotask-turn.ts'
import { countTurnWork } from '../support/turn-work.ts'
import { request, SECRET, stillEngine, textOf } from './requests.ts'

const AT_ONCE = 20
const ITEMS = Array.from({ length: 8_000 }, (_, index) => ({ id: index, name: `name ${index}` }))

const echo = task({ id: 'echo', run: (payload: unknown) => payload })
const many = task({ id: 'many', run: () => undefined })

describe('many large answers that are asked for at once', () => {
  let t: TestEngine
  let handler: Handler
  let names: Readonly<Record<string, string>>
  beforeAll(async () => {
    // It says that no turn is due, as one does that is asked by all before the first of them has done anything.
    const clock = Object.assign(testClock({ mode: 'manual', maxSteps: 1_000_000 }), {
      isTurnDue: () => false,
    })
    t = await stillEngine({ tasks: [echo, many], clock })
    handler = createHandler(t.engine)
    const run = await t.engine.trigger(echo, ITEMS, { tags: ['large'] })
    const token = await t.engine.wait.createToken({ timeout: '1d' })
    await t.engine.wait.completeToken(token, ITEMS)
    await t.clock.settle()
    const delayed = await t.engine.trigger(echo, ITEMS, { delay: '1d', metadata: { ITEMS } })
    names = { run: run.id, token: token.id, delayed: delayed.id }
  })
  afterAll(() => t.close())

  /** The most work between two turns of the event loop. */
  async function workOf(ask: () => Promise<unknown>, count: number): Promise<number> {
    using work = countTurnWork()
    const progress = { isOver: false }
    const answers = Promise.all(Array.from({ length: count }, ask)).finally(() => (progress.isOver = true))
    while (!progress.isOver) {
      await new Promise<void>(inNextTurn)
      await t.clock.settle()
    }
    await answers
    return work.most()
  }

  async function expectNoSum(ask: () => Promise<unknown>): Promise<void> {
    const one = await workOf(ask, 1)
    // The last of a turn may be as large as any; small ones beside it are not counted.
    expect(await workOf(ask, AT_ONCE)).toBeLessThan(3 * one + 20_000)
  }

  it.each([
    '/api/v3/runs/$run',
    '/api/v1/runs/$run/result',
    '/api/v1/runs/$run/metadata',
    '/api/v1/runs',
    'POST /api/v1/runs/$delayed/reschedule',
    '/api/v1/waitpoints/tokens/$token',
    '/realtime/v1/runs/$run?offset=-1',
    '/realtime/v1/runs?tags=large&offset=-1',
  ])('do not add up between two turns of the event loop: %s', async (path) => {
    const [method, address] = path.startsWith('POST ') ? ['POST', path.slice(5)] : ['GET', path]
    const url = `http://engine.test${address.replace(/\$(\w+)/g, (_all, name: string) => names[name] ?? '')}`
    const asked = { method, headers: { authorization: `Bearer ${SECRET}` } }
    await expectNoSum(async () => {
      const response = await handler(
        request(url, method === 'GET' ? asked : { ...asked, body: '{"delay":"2d"}' }),
      )
      expect(response.status).toBe(200)
      await textOf(response)
    })
  })

  it.each<[string, () => Promise<unknown>]>([
    ['runs.retrieve', () => t.engine.runs.retrieve(names['run'] ?? '')],
    ['runs.poll', () => t.engine.runs.poll(names['run'] ?? '')],
    ['runs.list', () => t.engine.runs.list().then(({ data }) => data)],
    ['wait.retrieveToken', () => t.engine.wait.retrieveToken(names['token'] ?? '')],
  ])('do not add up either of a call of %s', async (_name, ask) => expectNoSum(ask))

  it('do not add up on one page either: the text of each run is made in its turn', async () => {
    for (let count = 0; count < AT_ONCE; count++)
      await t.engine.trigger(many, 0, { delay: '1d', metadata: { ITEMS } })
    const work = (size: number): Promise<number> =>
      workOf(async () => {
        const url = `http://engine.test/api/v1/runs?filter[taskIdentifier]=many&page[size]=${size}`
        const headers = { authorization: `Bearer ${SECRET}` }
        const response = await handler(request(url, { method: 'GET', headers }))
        expect((await textOf(response)).split('"many"').length - 1).toBe(size)
      }, 1)
    expect(await work(AT_ONCE)).toBeLessThan(3 * (await work(1)) + 20_000)
  })

  it('do not add up either for runs that start at once: each reads its payload in its turn', async () => {
    const work = async (count: number): Promise<number> => {
      for (let at = 0; at < count; at++) await t.engine.trigger(many, ITEMS, { delay: '1h' })
      return workOf(() => t.clock.advance('1h'), 1)
    }
    expect(await work(AT_ONCE)).toBeLessThan(3 * (await work(1)) + 20_000)
  })

  it.each([
    ['/api/v1/runs/$run/result', 150_000],
    // Its output is parsed and made into a text first.
    ['/api/v1/waitpoints/tokens/$token', 450_000],
  ])('escapes the output of %s in slices', async (path, most) => {
    const output = '😀'.repeat(200_000) + '"'.repeat(1_300_000)
    const run = await t.engine.trigger(echo, output)
    const token = await t.engine.wait.createToken({ timeout: '1d' })
    await t.engine.wait.completeToken(token, output)
    await t.clock.settle()
    const url = `http://engine.test${path.replace('$run', run.id).replace('$token', token.id)}`
    const headers = { authorization: `Bearer ${SECRET}` }
    const answers: string[] = []
    const work = await workOf(async () => {
      answers.push(await textOf(await handler(request(url, { method: 'GET', headers }))))
    }, 1)
    expect(work).toBeLessThan(most)
    const { output: text } = JSON.parse(answers[0] ?? '') as { readonly output: string }
    expect(JSON.parse(text) === output).toBe(true)
    expect(answers[0]).toContain('😀')
    expect(answers[0]).not.toMatch(/\\u[d]8/i)
  })

  it('answers a run in the JSON in which it is stored, without making values of it', async () => {
    const url = `http://engine.test/api/v3/runs/${names['run'] ?? ''}`
    const headers = { authorization: `Bearer ${SECRET}` }
    const answer = await textOf(await handler(request(url, { method: 'GET', headers })))
    expect(JSON.parse(answer)).toMatchObject({ payload: ITEMS, output: ITEMS, metadata: {} })
    const work = await workOf(async () => textOf(await handler(request(url, { method: 'GET', headers }))), 1)
    expect(work).toBeLessThan(ITEMS.length)
  })
})
