import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunRecord, TokenRecord } from '../../../src/contract/records.ts'
import { Witness } from '../../../src/testing/witness/witness.ts'
import { queuedRun } from '../../../src/testing/conformance/sample-records.ts'

const here = (): string => '/app/review.ts:3:5'

function runRecord(id: string): RunRecord {
  return queuedRun(id, { taskId: 'review', createdAt: 0 })
}

function tokenRecord(id: string, timeoutAt: number): TokenRecord {
  return { id, kind: 'MANUAL', status: 'WAITING', tags: [`tag of ${id}`], timeoutAt, createdAt: 0 }
}

const runIds = ['run_1', 'run_2'] as const
const tokenIds = ['token_1', 'token_2', 'token_3'] as const

const step = fc.record({
  what: fc.constantFrom('created', 'settled', 'registered', 'released', 'dropped', 'ended'),
  runId: fc.constantFrom(...runIds),
  tokenId: fc.constantFrom(...tokenIds),
})

describe('Witness', () => {
  it('knows the earliest default deadline of an awaited token, whatever happened', () =>
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
        (steps, defaults) => {
          const witness = new Witness()
          const open = new Set<string>()
          const waits = new Set<string>()
          const drop = (matches: (wait: string) => boolean): void => {
            for (const wait of waits) if (matches(wait)) waits.delete(wait)
          }
          for (const { what, runId, tokenId } of steps) {
            const index = tokenIds.indexOf(tokenId)
            if (what === 'created' && !open.has(tokenId)) {
              open.add(tokenId)
              witness.tokenCreated(tokenRecord(tokenId, (index + 1) * 10), defaults[index] === true, here)
            } else if (what === 'settled') {
              open.delete(tokenId)
              drop((wait) => wait.endsWith(tokenId))
              witness.tokenSettled(tokenId)
            } else if (what === 'registered' && open.has(tokenId)) {
              waits.add(`${runId} ${tokenId}`)
              witness.waitRegistered({ runId, tokenId })
            } else if (what === 'released') {
              waits.delete(`${runId} ${tokenId}`)
              witness.waitReleased({ runId, tokenId })
            } else if (what === 'dropped' || what === 'ended') {
              drop((wait) => wait.startsWith(runId))
              if (what === 'ended') witness.runEnded(runId)
              else witness.waitsDropped(runId)
            }
            const forgettable = tokenIds.filter(
              (id, at) => defaults[at] === true && [...waits].some((wait) => wait.endsWith(id)),
            )
            expect(witness.forgottenBy(Infinity)?.id).toBe(forgettable[0])
            expect(witness.hasToken(`tag of ${tokenId}`)).toBe(open.has(tokenId))
          }
        },
      ),
    ))

  it('does not take a token for forgotten before its deadline', () => {
    const witness = new Witness()
    witness.tokenCreated(tokenRecord('token_1', 10), true, here)
    witness.waitRegistered({ runId: 'run_1', tokenId: 'token_1' })
    expect(witness.forgottenBy(9)).toBeUndefined()
    expect(witness.forgottenBy(10)).toMatchObject({ id: 'token_1', origin: here(), isTimeoutDefault: true })
  })

  it('knows when every waiting token is due, and where it was created', () => {
    const witness = new Witness()
    for (const [index, id] of tokenIds.entries())
      witness.tokenCreated(tokenRecord(id, 30 - 10 * index), false, here)
    witness.tokenSettled('token_2')
    expect([...witness.deadlines()]).toMatchObject([
      { tokenId: 'token_1', at: 30, createdAt: 0, origin: here() },
      { tokenId: 'token_3', at: 10, createdAt: 0, origin: here() },
    ])
  })

  it('shows a run with what its children wait for, and no circle', () => {
    const witness = new Witness()
    for (const id of runIds) witness.runCreated(runRecord(id), here)
    witness.tokenCreated(tokenRecord('token_1', 10), false, here)
    witness.waitRegistered({ runId: 'run_1', tokenId: 'run:run_2' })
    witness.waitRegistered({ runId: 'run_2', tokenId: 'token_1' })
    witness.waitRegistered({ runId: 'run_2', tokenId: 'run:run_1' })
    expect(witness.run('run_1')).toMatchObject({
      id: 'run_1',
      waits: [
        {
          kind: 'RUN',
          run: {
            id: 'run_2',
            waits: [
              { id: 'token_1', timeoutAt: 10 },
              { id: 'run:run_1', kind: 'RUN' },
            ],
          },
        },
      ],
    })
    witness.runEnded('run_1')
    expect(witness.run('run_1')).toBeUndefined()
  })

  it('says whom a run or a token is for', () => {
    const witness = new Witness()
    witness.runCreated(runRecord('run_1'), here)
    witness.tokenCreated(tokenRecord('token_1', 10), false, here)
    expect(witness.whom('run_1')).toBe('run run_1 of task "review", triggered at /app/review.ts:3:5')
    expect(witness.whom('token_1')).toBe('no run yet, created at /app/review.ts:3:5')
    witness.waitRegistered({ runId: 'run_1', tokenId: 'token_1' })
    expect(witness.whom('token_1')).toBe('run run_1 of task "review", created at /app/review.ts:3:5')
    expect(witness.whom('token_2')).toBeUndefined()
  })
})
