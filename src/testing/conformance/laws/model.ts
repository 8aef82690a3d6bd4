import { seededRandom } from '../../../clock/seeded-random.ts'
import { memoryStorage } from '../../../storage/memory/memory.ts'
import type { Law } from '../law.ts'
import { type Command, drawProgram } from '../model/command.ts'
import { shrinkProgram } from '../model/shrink.ts'
import { namedStorage } from '../named-storage.ts'
import { ThreeEngines } from '../model/three-engines.ts'
import { Mismatch } from '../sameness.ts'
import type { Subject } from '../subject.ts'

const PROGRAMS = 24
const LENGTH = 100
const OPENING: readonly Command[] = [0, 1, 2].map((owner) => ({
  name: 'tick',
  serial: 0,
  run: 0,
  token: 0,
  owner,
  option: 2,
  isStale: false,
  pauseMs: 0,
}))

interface Failure {
  readonly mismatch: Mismatch
  readonly story: readonly string[]
}

/** Random programs of commands, whose answers are compared with those of the memory storage. */
export const modelLaw: Law = {
  id: 'model/answers-like-memory',
  law: 'For any sequence of calls, a storage answers as the memory storage does.',
  async check(_, another) {
    const run = async (program: readonly Command[]): Promise<Failure | undefined> =>
      execute(await another(), program)
    for (let seed = 1; seed <= PROGRAMS; seed++) {
      const program = drawProgram(seededRandom(`conformance ${seed}`), LENGTH)
      const failure = await run(program)
      if (failure === undefined) continue
      const shortest = await shrinkProgram(program, async (shorter) => (await run(shorter)) !== undefined)
      const { mismatch, story } = (await run(shortest)) ?? failure
      const steps = story.map((step, at) => `    ${at + 1}. ${step}`).join('\n')
      throw new Mismatch(`program ${seed}, shrunk\n${steps}\n  the last step`, mismatch)
    }
  },
}

function execute(subject: Subject, program: readonly Command[]): Promise<Failure | undefined> {
  const { storage, origin } = subject
  const world = new ThreeEngines({ storage, reference: namedStorage(memoryStorage()), origin })
  return subject.use(async () => {
    const failure = await failureOf(world, program)
    const left = world.leave()
    // Closing may fail too. The first failure is the one to report.
    await (failure === undefined ? left : left.catch(() => undefined))
    return failure
  })
}

async function failureOf(world: ThreeEngines, program: readonly Command[]): Promise<Failure | undefined> {
  try {
    for (const command of [...OPENING, ...program]) await world.step(command)
    await world.compare()
    return undefined
  } catch (mismatch) {
    if (mismatch instanceof Mismatch) return { mismatch, story: world.story }
    throw mismatch
  }
}
