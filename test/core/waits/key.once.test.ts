import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KeyRecord, RunRecord, TokenRecord } from '../../../src/contract/records.ts'
import { task } from '../../../src/core/ambient/define-task.ts'
import { Attempt, type AttemptKernel, inBranch, runInAttempt } from '../../../src/core/attempt/attempt.ts'
import { Recall } from '../../../src/core/attempt/recall.ts'
import { TaskRegistry } from '../../../src/api/task-definition.ts'
import { branchContent, passPlace, waitKey } from '../../../src/core/waits/key.ts'

const definition = new TaskRegistry([task({ id: 'task', run: () => undefined })]).require('task')

function attemptOf(fields: Partial<RunRecord> = {}): Attempt {
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
  // No part of an engine is used by what only names waits.
  return new Attempt({} as AttemptKernel, definition, { ...record, ...fields })
}

/** The keys of the waits that a flow makes. */
async function keysOf(
  flow: (ask: (content?: unknown, kind?: string, name?: string) => KeyRecord) => unknown,
  attempt = attemptOf(),
): Promise<readonly string[]> {
  const keys: string[] = []
  await runInAttempt(attempt, () =>
    flow((content, kind = 'token', name) => {
      const key = waitKey(attempt, { kind, name, content })
      keys.push(`${key.scope}: ${key.value}`)
      return key
    }),
  )
  return keys
}

const recalled = (values: readonly string[]): Recall => {
  const tokens = values.map((value, at): TokenRecord => {
    const key = { scope: 'run_1', value: value.replace('run_1: ', '') }
    return { id: `waitpoint_${at}`, kind: 'MANUAL', status: 'WAITING', tags: ['tag'], key, createdAt: 0 }
  })
  return new Recall({ tokens, runs: [] }, { policyAttempt: 1, version: '1' })
}

/** Lets another flow go first. */
const hop = (count: number): Promise<void> =>
  count === 0 ? Promise.resolve() : Promise.resolve().then(() => hop(count - 1))

describe('waitKey', () => {
  it('tells every wait of a flow from the others', async () => {
    const keys = await keysOf(async (ask) => {
      for (let time = 0; time < 5; time += 1) {
        ask()
        ask()
        await hop(time)
      }
    })
    expect(new Set(keys).size).toBe(10)
  })

  it('is of the run, of the attempt of the policy, of the kind and of the content', async () => {
    const one = await keysOf((ask) => ask())
    const others = await Promise.all([
      keysOf((ask) => ask(), attemptOf({ id: 'run_2' })),
      keysOf((ask) => ask(), attemptOf({ policyAttempt: 2 })),
      keysOf((ask) => ask(undefined, 'for')),
      keysOf((ask) => ask([['tag']])),
      keysOf((ask) => ask([['tag', 'tag']])),
    ])
    expect(new Set([...one, ...others.flat()]).size).toBe(6)
    expect(await keysOf((ask) => ask(), attemptOf({ attempt: 7, epoch: 9 }))).toEqual(one)
  })

  it('is found by its name at any place, and once in a run', async () => {
    const named = await keysOf((ask) => ask('content', 'token', 'manager'))
    expect(
      await keysOf((ask) => {
        passPlace('once')
        ask('other', 'token', 'manager')
      }),
    ).toEqual(named)
    expect(await keysOf((ask) => ask('content', 'for', 'manager'))).not.toEqual(named)
    await expect(
      keysOf((ask) => [ask(undefined, 'token', 'manager'), ask(undefined, 'token', 'manager')]),
    ).rejects.toMatchObject({ code: 'ERR_WAIT_NAMED_TWICE' })
  })

  it('does not depend on the order in which flows side by side go on', async () => {
    const flows = fc.array(fc.array(fc.nat(4), { minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(flows, flows, async (shape, other) => {
        const keysWith = async (
          delay: (flow: number, step: number) => number,
        ): Promise<readonly string[]> => {
          const named: string[] = []
          const attempt = attemptOf()
          await runInAttempt(attempt, () =>
            Promise.all(
              shape.map(async (steps, flow) => {
                for (const step of steps.keys()) {
                  const { value } = waitKey(attempt, { kind: 'token', content: undefined })
                  named.push(`${flow}.${step} is ${value}`)
                  await hop(delay(flow, step))
                  // As `forToken` does: the flow goes on from a place of its own.
                  passPlace('forToken', value)
                  await hop(delay(flow, step))
                }
              }),
            ),
          )
          return named.sort()
        }
        const first = await keysWith((flow, step) => shape[flow]?.[step] ?? 0)
        const second = await keysWith((flow, step) => other[flow % other.length]?.[step] ?? 1)
        expect(second).toEqual(first)
        expect(new Set(first.map((line) => line.split(' is ')[1])).size).toBe(first.length)
      }),
    )
  })

  it('does not depend on the waits inside of an effect', async () => {
    const after = (waits: number) =>
      keysOf(async (ask) => {
        const attempt = attemptOf()
        passPlace('once', 'mail')
        await inBranch(attempt, branchContent('mail'), async () => {
          for (let wait = 0; wait < waits; wait += 1) passPlace('token')
          await hop(1)
        })
        ask()
      })
    expect(await after(3)).toEqual(await after(0))
  })
})

describe('Recall', () => {
  it('gives a question the key it had, and a new one none', async () => {
    const flow = (count: number) => async (ask: () => unknown) => {
      for (let time = 0; time < count; time += 1) {
        ask()
        await hop(1)
      }
    }
    const before = await keysOf(flow(2))
    const again = attemptOf()
    again.recall = recalled(before)
    const keys = await keysOf(flow(3), again)
    expect(keys.slice(0, 2)).toEqual(before)
    expect(keys).toHaveLength(3)
  })

  it('refuses another question where one was asked', async () => {
    const again = attemptOf()
    again.recall = recalled(await keysOf((ask) => ask('old')))
    await expect(keysOf((ask) => ask('new'), again)).rejects.toMatchObject({
      code: 'ERR_PENDING_VERSION',
      message: expect.stringContaining('wait.createToken, tags tag, asked at 1970') as string,
    })
  })

  it('refuses equal questions that flows asked at one place, for none is told from the other', async () => {
    const flows = (ask: () => unknown): unknown =>
      Promise.all(
        [1, 2].map(async (turns) => {
          await hop(turns)
          ask()
        }),
      )
    const again = attemptOf()
    again.recall = recalled(await keysOf(flows))
    await expect(keysOf(flows, again)).rejects.toMatchObject({ code: 'ERR_PENDING_VERSION' })
  })
})
