import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, ended, killNow, startProgram } from './kill/killed-process.ts'

interface ExportedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId?: string
}

describe('the trace of a run whose process is killed', () => {
  let program = ''
  const folder = temporaryFolder()
  beforeAll(async () => {
    program = await buildProgram('traced')
  })
  afterAll(() => {
    rmSync(program, { force: true })
    folder[Symbol.dispose]()
  })

  it('is one, connected, over both processes', async () => {
    const files = [folder.file('app.db'), folder.file('spans')] as const
    const first = startProgram([program, ...files, 'ask'])
    // It ends by itself only if it fails: then it cannot be killed any more.
    await Promise.race([once(first.stdout!, 'data'), once(first, 'exit')])
    await killNow(first)
    expect(await ended(startProgram([program, ...files, 'answer']))).toBe('"printed fine"\n')

    const lines = readFileSync(files[1], 'utf8').trimEnd().split('\n')
    // Written by the program.
    const spans = lines.map((line) => JSON.parse(line) as ExportedSpan)
    const byId = new Map(spans.map((span) => [span.spanId, span]))
    const pathOf = ({ name, parentId }: ExportedSpan): string => {
      const parent = parentId === undefined ? undefined : byId.get(parentId)
      return parent === undefined ? name : `${pathOf(parent)} › ${name}`
    }
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
    const second = 'request › trigger review › execute review'
    expect(spans.map(pathOf).toSorted()).toEqual(
      [
        'request',
        'request › trigger review',
        second,
        `${second} › wait for token`,
        `${second} › trigger print`,
        `${second} › trigger print › execute print`,
        `${second} › wait for run`,
      ].toSorted(),
    )
  }, 120_000)
})
