import { expect } from 'vitest'
import type { Approval } from '../approve-task.ts'
import { type Observation, observations } from './observer.ts'

interface RunAtEnd {
  readonly id: string
  readonly status: string
  readonly output?: Approval
  readonly chunks: readonly string[]
}

/**
 * Holds what every process was told before it was killed against what the last one found and finished: nothing that was
 * acknowledged is lost, nothing has happened twice. Answers how many triggers were acknowledged.
 */
export function checkAtEnd(printed: string, observationFile: string): number {
  const all = printed.split('\n').filter((line) => line.startsWith('{'))
  const runs = new Map(all.map((line) => JSON.parse(line) as RunAtEnd).map((run) => [run.id, run]))
  const seen = observations(observationFile)
  const byToken = new Map([...runs.values()].map((run) => [run.output?.token, run]))

  const triggered = pick(seen, 'triggered')
  for (const { run } of triggered) expect(runs.get(run)?.status, `${run} was acknowledged`).toBe('COMPLETED')
  const completed = pick(seen, 'completed')
  for (const { token, value } of completed) {
    expect(byToken.get(token)?.output?.value, `${token} was acknowledged`).toBe(value)
  }
  withoutRepetition(completed.map(({ token }) => token))
  withoutRepetition(pick(seen, 'finished').map(({ run }) => run))
  for (const { run, effect } of pick(seen, 'kept')) expect(runs.get(run)?.output?.effect, run).toBe(effect)
  for (const { id, chunks } of runs.values()) expect([id, areContiguous(chunks)]).toEqual([id, true])
  expect(pick(seen, 'failed')).toEqual([])
  return triggered.length
}

function pick<What extends Observation['what']>(
  all: readonly Observation[],
  what: What,
): Extract<Observation, { what: What }>[] {
  return all.filter((one): one is Extract<Observation, { what: What }> => one.what === what)
}

function withoutRepetition(ids: readonly string[]): void {
  expect(ids).toHaveLength(new Set(ids).size)
}

/** The chunks of every attempt start at 0 and have no gap. */
function areContiguous(chunks: readonly string[]): boolean {
  return chunks.every((chunk, index) => {
    const [attempt, place] = chunk.split(' ').map(Number)
    if (place === 0) return true
    const [before, last] = (chunks[index - 1] ?? '').split(' ').map(Number)
    return before === attempt && last === (place ?? 0) - 1
  })
}
