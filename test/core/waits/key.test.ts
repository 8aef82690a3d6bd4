import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunRecord } from '../../../src/contract/records.ts'
import { createEngine } from '../../../src/core/create-engine.ts'
import { kernelOf } from '../../../src/core/engine.ts'
import { task } from '../../../src/core/ambient/define-task.ts'
import { Attempt } from '../../../src/core/attempt/attempt.ts'
import { TaskRegistry } from '../../../src/core/attempt/task-definition.ts'
import { implicitKey } from '../../../src/core/waits/key.ts'

const kernel = kernelOf(createEngine())
const definition = new TaskRegistry([task({ id: 'task', run: () => undefined })]).require('task')

function scopeOf(fields: Partial<RunRecord> = {}): Attempt {
  const record: RunRecord = {
    id: 'run_1',
    taskId: 'task',
    status: 'EXECUTING',
    attempt: 1,
    policyAttempt: 1,
    interruptions: 0,
    epoch: 1,
    slot: true,
    returned: false,
    rootId: 'run_1',
    tags: [],
    streams: [],
    queue: 'task/task',
    createdAt: 0,
    updatedAt: 0,
  }
  return new Attempt(kernel, definition, { ...record, ...fields })
}

describe('implicitKey', () => {
  it('is the same for the same calls in the same attempt of the policy', () => {
    const [before, after] = [scopeOf({ attempt: 1, epoch: 1 }), scopeOf({ attempt: 2, epoch: 5 })]
    for (const [kind, options] of [
      ['token', { timeout: '1h' }],
      ['token', { timeout: '1h' }],
      ['for', { seconds: 1 }],
      ['until', { date: new Date(0) }],
    ] as const) {
      expect(implicitKey(after, kind, options)).toEqual(implicitKey(before, kind, options))
    }
  })

  it('differs by run, attempt of the policy, kind, place and options', () => {
    const keys = [
      implicitKey(scopeOf(), 'token', {}),
      implicitKey(scopeOf({ id: 'run_2' }), 'token', {}),
      implicitKey(scopeOf({ policyAttempt: 2 }), 'token', {}),
      implicitKey(scopeOf(), 'for', {}),
      implicitKey(scopeOf(), 'token', { timeout: '1h' }),
      implicitKey(scopeOf(), 'token', { timeout: 3_600_000 }),
      implicitKey(scopeOf(), 'token', { timeout: new Date(0) }),
      implicitKey(scopeOf(), 'token', { timeout: new Date(1) }),
      implicitKey(scopeOf(), 'token', { tags: ['é'] }),
      implicitKey(scopeOf(), 'token', { tags: ['e'] }),
    ]
    const second = scopeOf()
    implicitKey(second, 'token', {})
    keys.push(implicitKey(second, 'token', {}))
    expect(new Set(keys.map((key) => JSON.stringify(key))).size).toBe(keys.length)
    for (const key of keys) expect(key).not.toHaveProperty('expiresAt')
  })

  it('differs for any two lists of tags', () => {
    const tags = fc.array(fc.string({ unit: fc.constantFrom('0', '1', '2', '3', 'a', 'b') }))
    fc.assert(
      fc.property(tags, tags, (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other))
        const [key, otherKey] = [{ tags: one }, { tags: other }].map((options) =>
          implicitKey(scopeOf(), 'token', options),
        )
        expect(key).not.toEqual(otherKey)
      }),
      { examples: [[['a', 'b'], ['a2b']]] },
    )
  })

  it('counts every kind on its own, so that one more of a kind does not move the others', () => {
    const [plain, more] = [scopeOf(), scopeOf()]
    implicitKey(more, 'for', { seconds: 1 })
    expect(implicitKey(more, 'token', {})).toEqual(implicitKey(plain, 'token', {}))
  })
})
