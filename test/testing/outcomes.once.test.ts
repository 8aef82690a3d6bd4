import { describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { outcomes } from 'waitpoint/testing'

const review = task({
  id: 'review',
  run: async ({ doc }: { readonly doc: string }) => {
    const token = await wait.createToken({ timeout: '24h', tags: ['approval'] })
    const answer = await wait.forToken<boolean>(token)
    if (!answer.ok) throw new Error(`no review of ${doc}`)
    if (!answer.output) return 'rejected'
    await wait.for({ minutes: 2 })
    return 'published'
  },
})

const twoEyes = task({
  id: 'two-eyes',
  run: async (_payload: null) => {
    const names = ['first', 'second']
    const tokens = await Promise.all(names.map((tag) => wait.createToken({ timeout: '1h', tags: [tag] })))
    const answers = await Promise.all(tokens.map((token) => wait.forToken<boolean>(token)))
    return answers.filter((answer) => answer.ok && answer.output).length
  },
})

const silent = task({ id: 'silent', run: (n: number) => n + 1 })

describe('outcomes', () => {
  it('are what comes of every answer, of none, of a cancel and of a crash', async () => {
    const { text } = await outcomes(review, { doc: 'd1' }, { approval: [true, false] })
    expect(text).toMatchInlineSnapshot(`
      "the world answers                 the run comes to         after
      approval: true                    "published"              2m
      approval: false                   "rejected"               0ms
      approval: time-out                Error: no review of d1   1d
      approval: cancel                  ERR_RUN_CANCELED         0ms
      approval: crash, approval: true   "published"              2m 30s"
    `)
  })

  it('walk all answers to questions that are asked at the same time', async () => {
    const { rows, text } = await outcomes(twoEyes, null, { first: [true], second: [true] })
    expect(rows.length).toBe(13)
    expect(text).toMatchInlineSnapshot(`
      "the world answers                                        the run comes to   after
      first: true, second: true                                2                  0ms
      first: true, second: time-out                            1                  1h
      first: true, second: cancel                              ERR_RUN_CANCELED   0ms
      first: true, second: crash, second: true                 2                  30s
      first: time-out, second: true                            1                  1h
      first: time-out, second: time-out                        0                  1h
      first: time-out, second: cancel                          ERR_RUN_CANCELED   0ms
      first: time-out, second: crash, second: true             1                  1h
      first: cancel                                            ERR_RUN_CANCELED   0ms
      first: crash, first: true, second: true                  2                  30s
      first: crash, first: true, second: time-out              1                  1h
      first: crash, first: true, second: cancel                ERR_RUN_CANCELED   0ms
      first: crash, first: true, second: crash, second: true   2                  30s"
    `)
  })

  it('are one for a task without tokens', async () => {
    const { rows } = await outcomes({ task: silent, concurrency: 1 }, 1)
    expect(rows).toEqual([{ answers: [], result: '2', durationMs: 0 }])
  })

  it('refuse an option that they do not know', async () => {
    await expect(outcomes({ task: silent, concurency: 1 } as never, 1 as never)).rejects.toThrow(
      'Cannot use the subject of outcomes: there is no option "concurency"; use task, ',
    )
  })
})
