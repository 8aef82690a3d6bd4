import { expect, it } from 'vitest'
import { seededRandom } from '../../../../src/clock/seeded-random.ts'
import { memoryStorage } from '../../../../src/storage/memory/memory.ts'
import { drawProgram } from '../../../../src/testing/conformance/model/command.ts'
import { ThreeEngines } from '../../../../src/testing/conformance/model/three-engines.ts'
import { namedStorage } from '../../../../src/testing/conformance/named-storage.ts'

/** More than the law of the suite tries, which asks each storage. */
const PROGRAMS = Array.from({ length: 120 }, (_, seed) => `conformance ${seed + 1}`)

it('sees no difference between a storage and another one of its kind', async () => {
  const mismatches: unknown[] = []
  for (const seed of PROGRAMS) {
    const [storage, reference] = [namedStorage(memoryStorage()), namedStorage(memoryStorage())]
    const world = new ThreeEngines({ storage, reference, origin: Date.UTC(1970, 0) })
    try {
      for (const command of drawProgram(seededRandom(seed), 100)) await world.step(command)
      await world.compare()
    } catch (mismatch) {
      mismatches.push([seed, mismatch])
    }
    await world.leave()
  }
  expect(mismatches).toEqual([])
})
