import { expect, it } from 'vitest'
import type { TokenRecord } from '../../../src/contract/records.ts'
import { Recall } from '../../../src/core/attempt/recall.ts'
import { readName } from '../../../src/contract/question-keys.ts'
import { toldBefore } from '../../../src/contract/told-answers.ts'

const asked = (value: string): TokenRecord => ({
  id: 'waitpoint_1',
  kind: 'MANUAL',
  status: 'WAITING',
  tags: [],
  key: { scope: 'run_1', value },
  createdAt: 0,
})

it.each([
  ['1/token/place/7', 1],
  ['2/token/place/7', 0],
  ['1/name,token/manager', 0],
  ['1/name,token/order/7/manager', 0],
  ['1/name,token,abcdef/manager', 0],
  ['1/key,token/order/7', 0],
  ['1/token/place/7//abcdef', 1],
  ['once/1/token/place', 0],
])('counts only unnamed questions of the attempt: %s', (value, size) => {
  const recall = new Recall({ tokens: [asked(value)], runs: [] }, { policyAttempt: 1, version: '1' })
  expect(recall.size).toBe(size)
})

it('finds waits by their names, and what the questions of an attempt have told', () => {
  const keys = [
    '1/name,token/first',
    '1/name,token,aaaaaa/a/b',
    '1/token/place/7//bbbbbb',
    '2/name,token,cccccc/first',
  ]
  const tokens = keys.map((key, at) => ({ ...asked(key), id: `waitpoint_${at}` }))
  const once = { ...asked('once/key'), id: 'once_9', kind: 'ONCE' as const, tags: ['1/name,dddddd/'] }
  const stored = { tokens: [once, ...tokens], runs: [] }
  const recall = new Recall(stored, { policyAttempt: 1, version: '1' })
  expect(['first', 'a/b', 'other'].map((name) => recall.named({ by: 'name', name, kind: 'token' }))).toEqual([
    '1/name,token/first',
    '1/name,token,aaaaaa/a/b',
    undefined,
  ])
  expect(keys.map((key) => readName(key)?.name)).toEqual(['first', 'a/b', undefined, 'first'])
  expect([...toldBefore(stored, 1).keys()]).toEqual(['aaaaaa', 'bbbbbb', 'dddddd'])
})
