import type { CliCommand } from '../command.ts'
import { exitCodeFor, findingsOf, livingOwners } from '../doctor/findings.ts'
import { reportText } from '../doctor/report.ts'
import { nameOfPlace, readStorage, STORAGE_OPTIONS } from '../reach/place.ts'
import { inspectPlace } from '../reach/reach.ts'

/** `waitpoint doctor`. */
export const doctor: CliCommand = {
  name: 'doctor',
  summary: 'look into a storage: its schema, sizes, engines and runs, and what is wrong',
  options: STORAGE_OPTIONS,
  about:
    'Nothing is written. The exit code is 1 when there is a problem (✗); hints (!) may be as they are meant.',
  async run(given, terminal) {
    const place = readStorage(given)
    const before = terminal.clock.now()
    const inspection = await inspectPlace(place, terminal)
    // A storage in a file has no clock of its own. A server tells its time while the answer is under way.
    const clock =
      place.kind === 'sqlite' ? before : Math.max(before, Math.min(inspection.now, terminal.clock.now()))
    const findings = findingsOf(inspection, clock)
    const name = nameOfPlace(place)
    if (given.has('json'))
      terminal.printJson({ storage: name, ...inspection, alive: livingOwners(inspection).length, findings })
    else terminal.print(reportText(name, inspection, { findings, clock }))
    return exitCodeFor(findings)
  },
}
