import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CASES, casesOf, check, mostStandingStill, PATIENCE } from '../support/program-laws.ts'
import { lives } from '../support/program-world.ts'
import { edits, programs } from '../support/programs.ts'

const edited = lives(fc.option(edits(), { nil: undefined }))

describe('a random program that is changed while its run waits', PATIENCE, () => {
  it('ends on its own code, which stands beside the new', async () => {
    const stoodStill = await check(casesOf(programs(), edited), { deployment: 'beside' })
    expect(stoodStill).toBeLessThanOrEqual(mostStandingStill(CASES))
  })

  it('stands still on the new code or ends, and ends when its own code is back', async () => {
    let stillThere = 0
    await check(casesOf(programs(), edited), { deployment: 'alone' }, async (world, _one, ending) => {
      if (ending.status !== 'PENDING_VERSION') return
      const { status } = await world.bringBack()
      expect(world.seen.wrong).toEqual([])
      if (status !== 'COMPLETED') stillThere += 1
    })
    expect(stillThere).toBeLessThanOrEqual(mostStandingStill(CASES))
  })

  it('ends on the new code when its waits have names', async () => {
    const named = lives(fc.option(edits({ named: true }), { nil: undefined }))
    expect(await check(casesOf(programs({ named: true }), named), { deployment: 'alone' })).toBe(0)
  })

  it('gives no answer to a question with other options where the code is accepted', async () => {
    await check(casesOf(programs(), edited), { deployment: 'accepted' }, (_world, _one, { status }) =>
      expect(status).toBe('COMPLETED'),
    )
  })
})
