import { describe, expect, it } from 'vitest'
import {
  circleIn,
  renderWaitedToken,
  renderWaitGraph,
  type WaitedToken,
  type WaitingRun,
} from '../../../src/clock/virtual/wait-graph.ts'

const MIDNIGHT = Date.UTC(2000, 0, 1)

const token: WaitedToken = {
  id: 'waitpoint_1',
  kind: 'MANUAL',
  tags: ['review', 'urgent'],
  timeoutAt: MIDNIGHT,
  isTimeoutDefault: true,
  origin: '/app/review.ts:3:5',
}
const child: WaitingRun = { id: 'run_2', taskId: 'review', origin: '/app/main.ts:2:1', waits: [token] }
const childEnd: WaitedToken = {
  id: 'run:run_2',
  kind: 'RUN',
  tags: [],
  isTimeoutDefault: false,
  origin: child.origin,
  run: child,
}

describe('renderWaitedToken', () => {
  it('says what it is tagged with, when it times out and where it was created', () => {
    expect(renderWaitedToken(token)).toBe(
      'waitpoint_1 [review, urgent], until 2000-01-01T00:00:00.000Z (the default), created at /app/review.ts:3:5',
    )
    expect(renderWaitedToken({ ...token, tags: [], timeoutAt: undefined, isTimeoutDefault: false })).toBe(
      'waitpoint_1, created at /app/review.ts:3:5',
    )
  })
})

describe('circleIn', () => {
  const run = (id: string, waits: readonly WaitedToken[]): WaitingRun => ({
    id,
    taskId: id,
    origin: '',
    waits,
  })
  const end = (id: string, of: Partial<WaitedToken>): WaitedToken => ({
    ...childEnd,
    id: `run:${id}`,
    run: undefined,
    ...of,
  })

  it('finds the runs that wait for the end of one another, and those only', () => {
    const second = run('second', [end('first', { isCircular: true })])
    const first = run('first', [token, end('second', { run: second })])
    expect(circleIn([child, run('outside', [end('first', { run: first })])])).toEqual([first, second])
    expect(circleIn([child, run('outside', [childEnd])])).toBeUndefined()
  })
})

describe('renderWaitGraph', () => {
  it('shows each run with what it waits for, down to the last child', () => {
    const parent = { id: 'run_1', taskId: 'parent', origin: '/app/main.ts:9:1', waits: [childEnd] }
    const idle = { id: 'run_3', taskId: 'idle', origin: '/app/main.ts:10:1', waits: [] }
    expect(renderWaitGraph([parent, idle]).split('\n')).toEqual([
      'run run_1 of task "parent", triggered at /app/main.ts:9:1',
      '  waits for the end of',
      '    run run_2 of task "review", triggered at /app/main.ts:2:1',
      `      waits for ${renderWaitedToken(token)}`,
      'run run_3 of task "idle", triggered at /app/main.ts:10:1, waits for nothing',
    ])
  })

  it('does not show a crowd', () => {
    const lines = renderWaitGraph(Array.from({ length: 30 }, () => child)).split('\n')
    expect(lines).toHaveLength(21)
    expect(lines.at(-1)).toBe('and 40 more lines')
  })
})
