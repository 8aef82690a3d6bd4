import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { z } from 'zod'

const run = (): undefined => undefined

describe('the title of a run', () => {
  it('is made of the payload when the run is triggered, and is in its views', async () => {
    const bill = task({ id: 'bill', run, title: ({ no }: { readonly no: number }) => `Invoice ${no}` })
    await using t = await createTestEngine({ tasks: [bill] })
    const { id } = await t.engine.trigger(bill, { no: 7 }, { maxAttempts: 2 })
    expect(await t.engine.runs.retrieve(id)).toMatchObject({ title: 'Invoice 7' })
    expect((await t.engine.runs.list()).data).toMatchObject([{ id, title: 'Invoice 7' }])
    const again = await t.engine.runs.replay(id)
    expect((await t.engine.runs.retrieve(again)).title).toBe('Invoice 7')
  })

  it('is made of the payload as the task reads it', async () => {
    const schema = z.object({ no: z.number().default(1), at: z.coerce.date() })
    const bill = task({ id: 'bill', run, schema, title: ({ no, at }) => `${no} of ${at.getUTCFullYear()}` })
    const plain = task({ id: 'plain', run, title: (given: { at: unknown }) => typeof given.at })
    await using t = await createTestEngine({ tasks: [bill, plain] })
    const [first, second] = [
      await t.engine.trigger(bill, { at: '2001-02-03' }),
      await t.engine.trigger(plain, { at: new Date(0) }),
    ]
    expect((await t.engine.runs.retrieve(first)).title).toBe('1 of 2001')
    expect((await t.engine.runs.retrieve(second)).title).toBe('string')
  })

  it('is that of its instant for a run of a schedule', async () => {
    const title = ({ timestamp }: { readonly timestamp: Date }): string => timestamp.toISOString()
    const daily = task({ id: 'daily', schedule: { cron: '0 9 * * *' }, run, title })
    await using t = await createTestEngine({ tasks: [daily], clock: { mode: 'manual' } })
    await t.clock.advance('1d')
    const { data } = await t.engine.runs.list()
    expect(data.map((each) => each.title)).toEqual(['2000-01-01T09:00:00.000Z'])
  })

  it('is cut after 200 characters', async () => {
    const long = task({ id: 'long', run, title: (text: string) => text })
    await using t = await createTestEngine({ tasks: [long] })
    const { id } = await t.engine.trigger(long, 'x'.repeat(500))
    expect((await t.engine.runs.retrieve(id)).title).toBe('x'.repeat(200))
  })

  it.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no such invoice')
      },
      'no such invoice',
    ],
    ['rejects', () => Promise.reject(new Error('not today')), 'not today'],
    ['answers a promise', () => Promise.resolve('a title'), 'Cannot use a promise'],
    ['answers a number', () => 7, 'Cannot use 7 as the title of a run of task "odd": it must be a string'],
  ])('is none, and an error event, when its function %s', async (_what, title, message) => {
    const odd = task({ id: 'odd', run, title: title as () => string })
    await using t = await createTestEngine({ tasks: [odd] })
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => errors.push(error))
    const handle = await t.engine.trigger(odd, undefined)
    await handle.result()
    expect(await t.engine.runs.retrieve(handle)).not.toHaveProperty('title')
    expect(errors.map(String)).toEqual([expect.stringContaining(message)])
  })

  it('is that of the payload that a trailing debounce leaves, also if that has none', async () => {
    const title = (text: string): string => (text === 'bad' ? (7 as never) : text)
    const search = task({ id: 'search', run, title })
    await using t = await createTestEngine({ tasks: [search], clock: { mode: 'manual' } })
    t.engine.on('error', () => undefined)
    const debounce = { key: 'k', delay: '5s', mode: 'trailing' } as const
    const { id } = await t.engine.trigger(search, 'a', { debounce })
    await t.engine.trigger(search, 'ab', { debounce })
    expect((await t.engine.runs.retrieve(id)).title).toBe('ab')
    await t.engine.trigger(search, 'bad', { debounce })
    expect(await t.engine.runs.retrieve(id)).not.toHaveProperty('title')
    await t.clock.advance('1m')
  })
})
