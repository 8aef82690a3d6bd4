import { describe, expect, it, vi } from 'vitest'
import { runs, streams, task, type AnyTask } from 'waitpoint/sdk'
import type { RetrievedRun } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { turn } from '../../support/turn.ts'

/** The output of a run, and its chunks of two streams. */
async function told(
  run: AnyTask,
): Promise<{ readonly output: unknown; readonly chunks: readonly unknown[] }> {
  await using t = await createTestEngine({ tasks: [run] })
  t.engine.makeDefault()
  const { id, output, error } = (await runs.poll(await run.trigger(undefined))) as RetrievedRun
  const chunks: unknown[] = []
  for (const key of ['notes', 'default'])
    for await (const chunk of await streams.read(id, key)) chunks.push(chunk)
  return { output: error?.message ?? output, chunks }
}

describe('streams.writer', () => {
  it('logs an error of its function, and ends with the chunks that it has written', async () => {
    using log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const writing = task({
      id: 'writing',
      run: async () => {
        const { waitUntilComplete } = streams.writer<string>('notes', {
          execute: async ({ write }) => {
            write('one')
            throw new Error('out of ink')
          },
        })
        await waitUntilComplete()
        return 'written'
      },
    })
    expect(await told(writing)).toEqual({ output: 'written', chunks: ['one'] })
    expect(String(log.mock.calls)).toContain('A writer of stream "notes" has failed')
  })

  it('logs an error of a stream that is merged, before its function has ended', async () => {
    using log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const writing = task({
      id: 'writing',
      run: async () => {
        const { waitUntilComplete } = streams.writer<string>({
          execute: async ({ write, merge }) => {
            merge(new ReadableStream({ start: (merged) => merged.error(new Error('torn')) }))
            for (let turns = 0; turns < 10; turns += 1) await turn()
            write('whole')
          },
        })
        await waitUntilComplete()
      },
    })
    expect((await told(writing)).chunks).toEqual(['whole'])
    expect(String(log.mock.calls)).toContain('A writer of stream "default" has failed')
  })

  it('ends without a word when its run was canceled before its function has ended', async () => {
    let finish = (): void => undefined
    const writing = task({
      id: 'writing',
      run: () =>
        streams
          .writer<string>('notes', {
            execute: ({ write }) => {
              write('one')
              return new Promise<void>((resolve) => (finish = resolve))
            },
          })
          .waitUntilComplete(),
    })
    await using t = await createTestEngine({ tasks: [writing] })
    t.engine.makeDefault()
    const run = await writing.trigger(undefined)
    for await (const chunk of await streams.read(run.id, 'notes')) {
      expect(chunk).toBe('one')
      break
    }
    await runs.cancel(run.id)
    expect((await runs.poll(run)).status).toBe('CANCELED')
    finish()
    for (let turns = 0; turns < 10; turns += 1) await turn()
  })

  it('calls its function at once, and takes no chunk after its end', async () => {
    const writing = task({
      id: 'writing',
      run: async () => {
        let write = (_chunk: string): void => undefined
        const { waitUntilComplete } = streams.writer<string>('notes', {
          execute: (tools) => {
            write = tools.write
          },
        })
        write('in time')
        await waitUntilComplete()
        write('too late')
      },
    })
    expect((await told(writing)).chunks).toEqual(['in time'])
  })
})

describe('streams.append', () => {
  it('has the default key for a text alone, and for a text and options', async () => {
    const appending = task({
      id: 'appending',
      run: async () => {
        await streams.append('alone', undefined)
        await streams.append('with options', { target: 'self', signal: new AbortController().signal })
        await streams.append('notes', { target: 'self', text: 'a chunk' })
        await streams.append('notes', 0)
      },
    })
    expect((await told(appending)).chunks).toEqual([
      { target: 'self', text: 'a chunk' },
      0,
      'alone',
      'with options',
    ])
  })
})
