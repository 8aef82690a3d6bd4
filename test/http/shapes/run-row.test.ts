import { describe, expect, it } from 'vitest'
import { kernelOf } from '../../../src/core/engine.ts'
import { RunRow } from '../../../src/http/shapes/run-row.ts'
import { bodyTask } from '../../support/body-task.ts'
import { stillEngine } from '../requests.ts'

const idle = bodyTask(({ wait }) => wait.for({ hours: 1 }))

describe('RunRow', () => {
  it('is of another version with every change, and does not read the payload for it, which never changes', async () => {
    await using t = await stillEngine({ tasks: [idle] })
    const { id } = await t.engine.trigger(idle, null, { delay: '1h' })
    const record = await kernelOf(t.engine).host.storage.runs.get(id)
    if (record === undefined) throw new Error('Cannot find the run')
    const { version } = new RunRow(record)
    const changes = [
      { status: 'CANCELED' },
      { tags: ['a'] },
      { metadataJson: '{"a":1}' },
      { streams: ['k'] },
      { attempt: 2 },
      { updatedAt: record.updatedAt + 1 },
      { finishedAt: record.updatedAt },
    ] as const
    const versions = changes.map((change) => new RunRow({ ...record, ...change }).version)
    expect(new Set([version, ...versions]).size).toBe(changes.length + 1)
    expect(new RunRow({ ...record, payloadJson: '"x"' }).version).toBe(version)
  })

  it.each([
    ['QUEUED', 'PENDING'],
    ['PENDING_VERSION', 'PENDING_VERSION'],
    ['WAITING', 'WAITING_TO_RESUME'],
  ] as const)('has for %s the status that subscribers know as %s', async (status, known) => {
    await using t = await stillEngine({ tasks: [idle] })
    const { id } = await t.engine.trigger(idle, null, { delay: '1h' })
    const record = await kernelOf(t.engine).host.storage.runs.get(id)
    if (record === undefined) throw new Error('Cannot find the run')
    expect(new RunRow({ ...record, status }).columns(new Set())).toMatchObject({ status: known })
  })
})
