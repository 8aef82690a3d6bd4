import { describe, expect, it } from 'vitest'
import { readLimits } from '../../src/http/limits.ts'

describe('readLimits', () => {
  it('has a default for every limit, and no limit of the rate', () => {
    expect(readLimits()).toEqual({
      completeBytes: 3_145_728,
      createTokenBytes: 10_240,
      triggerBytes: 3_145_728,
      metadataBytes: 2_097_152,
      chunkBytes: 524_288,
      otherBytes: 65_536,
      uploadBytes: 67_108_864,
      packetBytes: 33_554_432,
      packets: 100,
      batchRuns: 500,
      streams: 100,
      tags: 10,
      keyLength: 2_048,
      pageSize: 100,
      subscriptions: 1_000,
      rate: undefined,
    })
  })

  it('takes others', () => {
    expect(readLimits({ pageSize: 5, tags: 0, rate: { requests: 10, per: '1m' } })).toMatchObject({
      pageSize: 5,
      tags: 0,
      rate: { requests: 10, perMs: 60_000 },
    })
  })

  it.each([
    { tags: 11 },
    { pageSize: 101 },
    { pageSize: 0 },
    { keyLength: 2_049 },
    { triggerBytes: 0 },
    { subscriptions: Number.NaN },
    { rate: { requests: 0, per: '1s' } },
    { rate: { requests: 1, per: 0 } },
    { rate: { requests: 1, per: 'soon' } },
    { rate: { requests: 1 } },
    { rate: 5 },
    { rate: { requests: 1, per: 1, burst: 2 } },
    { pageSizes: 5 },
    [],
    'none',
  ])('refuses what is no limit: %j', (limits) => {
    expect(() => readLimits(limits as never)).toThrow(/^Cannot (?:use|read) /)
  })
})
