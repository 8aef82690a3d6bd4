import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryStorage, task } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import type { RunRecord, TokenRecord } from '../../src/contract/records.ts'
import { MOST_SEGMENTS, type Segment, segmentsOfRun } from '../../src/console/segments.ts'

const RUN: RunRecord = {
  id: 'run_1',
  taskId: 'task',
  status: 'COMPLETED',
  attempt: 1,
  policyAttempt: 1,
  interruptions: 0,
  epoch: 1,
  slot: false,
  returned: false,
  rootId: 'run_1',
  tags: [],
  streams: [],
  queue: 'task/task',
  createdAt: 0,
  updatedAt: 0,
}

function token(createdAt: number, completedAt: number | undefined, kind = 'SLEEP'): TokenRecord {
  const status = completedAt === undefined ? 'WAITING' : 'COMPLETED'
  return { id: `token_${createdAt}`, kind, status, tags: [], createdAt, completedAt } as TokenRecord
}

function thrown(number: number, startedAt: number, endedAt: number): object {
  return { number, startedAt, endedAt, error: { name: 'Error', message: 'no' } }
}

const told = (segments: readonly Segment[]): readonly string[] =>
  segments.map(({ kind, from, to }) => `${kind} ${from}–${to}`)

const drawn = (
  record: Partial<RunRecord>,
  tokens: readonly TokenRecord[] = [],
  now = 100,
): readonly string[] => told(segmentsOfRun({ ...RUN, ...record }, { tokens, runs: [] }, now))

describe('the segments of a run', () => {
  it('are those of an execution with waits, as an engine stores it', async () => {
    const storage = memoryStorage()
    const nap = task({ id: 'nap', run: (ms: number, { wait }) => wait.for({ seconds: ms / 1_000 }) })
    const steps = task({
      id: 'steps',
      run: async (_payload: undefined, { wait }) => {
        await t.clock.sleep(1_000)
        await wait.for({ seconds: 2 })
        await t.clock.sleep(3_000)
        await nap.triggerAndWait(4_000)
        await t.clock.sleep(5_000)
      },
    })
    await using t = await createTestEngine({ tasks: [steps, nap], storage, clock: { mode: 'manual' } })
    const { id } = await t.engine.trigger(steps, undefined, { delay: '10s' })
    await t.clock.advance('1m')
    const record = (await storage.runs.get(id)) as RunRecord
    const begin = record.createdAt
    const segments = segmentsOfRun(record, await storage.runs.asked(id), t.clock.now())
    expect(segments.map(({ kind, from, to }) => [kind, from - begin, to - begin])).toEqual([
      ['in line', 0, 10_000],
      ['executing', 10_000, 11_000],
      ['waiting', 11_000, 13_000],
      ['executing', 13_000, 16_000],
      ['waiting', 16_000, 20_000],
      ['executing', 20_000, 25_000],
    ])
  })

  it.each<[string, Partial<RunRecord>, readonly TokenRecord[], readonly string[]]>([
    ['in line', { status: 'QUEUED', attempt: 0 }, [], ['in line 0–100']],
    ['delayed', { status: 'DELAYED', attempt: 0, wakeAt: 300 }, [], ['delayed 0–100']],
    [
      'parked',
      { status: 'WAITING', startedAt: 10, parks: 1 },
      [token(20, undefined)],
      ['in line 0–10', 'executing 10–20', 'waiting 20–100'],
    ],
    [
      'canceled while it waited',
      { status: 'CANCELED', startedAt: 10, finishedAt: 50, parks: 1 },
      [token(20, undefined)],
      ['in line 0–10', 'executing 10–20', 'waiting 20–50'],
    ],
    [
      'one that asked for the next thing at the instant of an answer',
      { startedAt: 0, finishedAt: 50, parks: 2 },
      [token(10, 30), token(30, 40)],
      ['executing 0–10', 'waiting 10–40', 'executing 40–50'],
    ],
    [
      'one that never parked, with a token that it answered itself',
      { startedAt: 10, finishedAt: 50 },
      [token(20, 30, 'MANUAL')],
      ['in line 0–10', 'executing 10–50'],
    ],
    [
      'one with an effect while it waits for something else',
      { startedAt: 0, finishedAt: 50, parks: 1 },
      [token(10, 40), token(20, 30, 'ONCE')],
      ['executing 0–30', 'waiting 30–40', 'executing 40–50'],
    ],
    [
      'one that waited for what others made',
      { startedAt: 10, finishedAt: 50, parks: 2 },
      [token(20, 30)],
      ['in line 0–10', 'unknown 10–20', 'waiting 20–30', 'unknown 30–50'],
    ],
    [
      'one that threw, before its next attempt',
      { status: 'DELAYED', attemptsJson: JSON.stringify([thrown(1, 10, 20)]), startedAt: 10, wakeAt: 200 },
      [],
      ['in line 0–10', 'executing 10–20', 'before a retry 20–100'],
    ],
    [
      'one that threw twice, and was asked something in its third attempt',
      {
        attempt: 3,
        policyAttempt: 3,
        attemptsJson: JSON.stringify([thrown(1, 10, 20), thrown(2, 30, 40)]),
        startedAt: 10,
        finishedAt: 90,
        parks: 1,
      },
      [token(60, 70)],
      [
        'in line 0–10',
        'executing 10–20',
        'before a retry 20–30',
        'executing 30–40',
        'unknown 40–60',
        'waiting 60–70',
        'executing 70–90',
      ],
    ],
    [
      'one that threw twice, and waits in its third attempt',
      {
        status: 'WAITING',
        attempt: 3,
        policyAttempt: 3,
        attemptsJson: JSON.stringify([thrown(1, 10, 20), thrown(2, 30, 40)]),
        startedAt: 10,
        parks: 1,
      },
      [token(60, undefined)],
      [
        'in line 0–10',
        'executing 10–20',
        'before a retry 20–30',
        'executing 30–40',
        'unknown 40–60',
        'waiting 60–100',
      ],
    ],
    [
      'one whose process died, but for its waits',
      { attempt: 2, startedAt: 10, finishedAt: 90, parks: 1 },
      [token(30, 60)],
      ['in line 0–10', 'unknown 10–30', 'waiting 30–60', 'unknown 60–90'],
    ],
    [
      'one whose process died in its first attempt, which then threw',
      {
        status: 'FAILED',
        attempt: 3,
        policyAttempt: 2,
        attemptsJson: JSON.stringify([thrown(2, 30, 40), thrown(3, 50, 60)]),
        startedAt: 10,
        finishedAt: 60,
      },
      [],
      ['in line 0–10', 'unknown 10–40', 'before a retry 40–50', 'executing 50–60'],
    ],
  ])('of %s', (_what, record, tokens, expected) => {
    expect(drawn(record, tokens)).toEqual(expected)
  })

  it('are without a gap and bounded, whatever is stored', () => {
    const instant = fc.integer({ min: 0, max: 2_000 })
    const kinds = fc.constantFrom('SLEEP', 'MANUAL', 'ONCE', 'BINDING')
    const tokens = fc.array(
      fc.record({ at: instant, end: fc.option(instant, { nil: undefined }), kind: kinds }),
      { maxLength: 600 },
    )
    const statuses = fc.constantFrom(
      'EXECUTING',
      'WAITING',
      'QUEUED',
      'COMPLETED',
      'CANCELED',
      'PENDING_VERSION',
    )
    const attempts = fc.array(
      fc.record({ number: fc.integer({ min: 1, max: 9 }), at: instant, took: instant }),
    )
    fc.assert(
      fc.property(tokens, statuses, attempts, (given, status, all) => {
        const [finishedAt, now] = [status === 'COMPLETED' ? 1_500 : undefined, 1_800]
        const thrownAttempts = all.map(({ number, at, took }) => thrown(number, at, at + took))
        const segments = segmentsOfRun(
          {
            ...RUN,
            status,
            startedAt: 100,
            finishedAt,
            parks: 5,
            attempt: 10,
            attemptsJson: JSON.stringify(thrownAttempts),
          },
          { tokens: given.map(({ at, end, kind }) => token(at, end, kind)), runs: [] },
          now,
        )
        expect(segments.length).toBeLessThanOrEqual(MOST_SEGMENTS)
        expect([segments[0]?.from, segments.at(-1)?.to]).toEqual([0, finishedAt ?? now])
        for (const [at, { from, to }] of segments.entries()) {
          expect(to).toBeGreaterThan(from)
          if (at > 0) expect(from).toBe(segments[at - 1]?.to)
        }
      }),
    )
  })

  it('are the newest of many', () => {
    const tokens = Array.from({ length: 300 }, (_, at) => token(at * 10 + 3, at * 10 + 8))
    const segments = segmentsOfRun(
      { ...RUN, startedAt: 0, finishedAt: 3_000, parks: 300 },
      { tokens, runs: [] },
      3_000,
    )
    expect(told(segments).slice(0, 2)).toEqual(['unknown 0–2008', 'executing 2008–2013'])
    expect(segments).toHaveLength(MOST_SEGMENTS)
  })
})
