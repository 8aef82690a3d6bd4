import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { task, wait } from 'waitpoint'
import { type Body, ExplorationError, type ExploreOptions } from 'waitpoint/testing'
import { loadedBy } from '../../support/loaded.ts'
import { checkThenAct } from '../planted/check-then-act.ts'
import { repeatedCharge } from '../planted/repeated-charge.ts'
import { exploreAll } from './bodies.ts'

const folder = mkdtempSync(join(tmpdir(), 'waitpoint-stories-'))

afterEach(() => void vi.unstubAllEnvs())
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function failed(body: Body, options: ExploreOptions = {}): Promise<ExplorationError> {
  const error: unknown = await exploreAll(body, options).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof ExplorationError) return error
  throw new Error('the exploration finds nothing', { cause: error })
}

/** What a page shows, lane by lane: each row with its time, and its cards with the number of their lane. */
function read(page: string): string {
  return page
    .slice(page.indexOf('<main>'), page.indexOf('<div class="end">'))
    .split('\n')
    .filter((line) => line.startsWith('<div class="row') && !line.includes('inside'))
    .map((line) => {
      const time = /<span class="time">(.*?)<\/span>/.exec(line)?.[1] ?? ''
      const lanes = line.split(/<(?:span|b) class="lane/).slice(1)
      const cells = lanes.map((cell) => cell.replace(/^[^>]*>/, '').replace(/<span class="storage.*/s, ''))
      const shown = cells
        .map((cell) => cell.replace(/<small>/g, ', ').replace(/<[^>]*>/g, ''))
        .map((cell) => cell.trim())
      return [time, ...shown].join(' | ').trimEnd()
    })
    .join('\n')
}

describe('the page of a failed exploration', () => {
  it('has a lane for the clock, the test, each run and each engine, in order of time', async () => {
    const { body, options } = checkThenAct
    expect(read(await (await failed(body, options)).html())).toMatchInlineSnapshot(`
      " | clock | test | order | enginestorage
      0ms |  | the test triggers order |  |
       |  |  | order starts |
       |  |  | order creates its token [order], time-out 1h |
       |  |  | order waits for its token [order] |
      59m later |  |  |  |
      59m | the test has slept 59m |  |  |
      1m later |  |  |  |
      1h | ▶ the deadline of the token [order] of order passes, before the test looks at the token [order] of order |  |  |
       |  | the test looks at the token [order] of order: it is WAITING |  |
       |  | the test: ship |  |
       |  |  | order goes on |
       |  | the test completes the token [order] of order: too late, it is TIMED_OUT |  |
       |  |  | order: refund |
       |  |  | order ends |"
    `)
  })

  it('marks the crash', async () => {
    const { body, options } = repeatedCharge
    const page = await (await failed(body, options)).html()
    expect(page).toContain('<span class="card broken">▶ ')
    expect(page).toContain('<small>the process dies of it</small>')
  })

  it('tells what a second attempt finds again, and which run a run waits for', async () => {
    const body: Body = async (t) => {
      const pay = task({
        id: 'pay',
        run: async (_payload: null) => {
          await t.step('charge')
          await wait.for({ hours: 1 })
        },
      })
      const order = task({
        id: 'order',
        run: async (_payload: null) => {
          await wait.forToken(await wait.createToken({ timeout: '1d', tags: ['basket'] }))
          return pay.triggerAndWait(null).unwrap()
        },
      })
      t.use(pay, order)
      const run = await t.engine.trigger(order, null)
      await t.complete({ tag: 'basket' })
      await run.outcome()
      throw new Error('look at this')
    }
    const replay = 'v1|crash@pay/charge#1>after'
    const { message } = await failed(body, { crashes: 'every-commit', replay })
    expect(message).toContain('order waits for the end of pay\n')
    expect(message).toContain('order (attempt 2), pay (attempt 2) start\n')
    expect(message).toContain('order finds its token [basket] again: it is COMPLETED\n')
    expect(message).not.toMatch(/(run|waitpoint)_\w/)
  })

  it('asks the network for nothing, and has no script', async () => {
    const { body, options } = checkThenAct
    const page = await (await failed(body, options)).html()
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
    expect(page).not.toMatch(/<script|<link|<img|url\(|@import|\bsrc=|https?:/)
  })

  it('shows texts of the test as texts, whatever is in them', async () => {
    const hostile = `"><script>alert('x')</script>&lt;\u202e\u0000`
    const odd = task({
      id: `odd ${hostile}`,
      run: async () => wait.forToken(await wait.createToken({ tags: [`tag ${hostile}`.slice(0, 60)] })),
    })
    const page = await (
      await failed(
        async (t) => {
          await t.engine.trigger(odd, undefined)
          await t.step(`step ${hostile}`)
          throw new Error(`message ${hostile}`)
        },
        { tasks: [odd] },
      )
    ).html()
    expect(page).not.toContain('<script')
    for (const mark of ['\u202e', '\u0000']) expect(page).not.toContain(mark)
    const shown = '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;lt;\\u{202e}\\u{0}'
    for (const what of ['odd', 'step', 'message']) expect(page).toContain(`${what} ${shown}`)
  })

  it('is written into the folder of WAITPOINT_STORY_DIR, and the message says where', async () => {
    const { body, options } = checkThenAct
    const into = join(folder, 'new', 'stories')
    vi.stubEnv('WAITPOINT_STORY_DIR', into)
    const first = await failed(body, options)
    const [name = '', ...others] = readdirSync(into)
    expect(others).toEqual([])
    expect(first.message.split('\n').at(-1)).toBe(`As a page: ${join(into, name)}`)
    expect(readFileSync(join(into, name), 'utf8')).toBe(await first.html())
    await failed(body, { ...options, replay: first.replay })
    expect(readdirSync(into)).toEqual([name])
  })

  it('is offered by a message where there is no such folder', async () => {
    const { body, options } = checkThenAct
    expect((await failed(body, options)).message.split('\n').at(-1)).toBe(
      'As a page: WAITPOINT_STORY_DIR=stories',
    )
  })

  it('does not hide the failure when it cannot be written', async () => {
    const { body, options } = checkThenAct
    const file = join(folder, 'a-file')
    writeFileSync(file, '')
    vi.stubEnv('WAITPOINT_STORY_DIR', file)
    const { message, replay } = await failed(body, options)
    expect(message).toContain(`WAITPOINT_REPLAY='${replay}'`)
    expect(message).toMatch(/\nAs a page: cannot be written: EEXIST/)
  })

  it('is loaded when it is wanted, and not before', () => {
    const loaded = [...loadedBy('src/testing.ts')].filter((file) => file.includes('story-page'))
    expect(loaded).toEqual([])
  })
})
