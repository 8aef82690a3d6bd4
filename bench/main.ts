import { cpus, loadavg } from 'node:os'
import { bloat } from './figures/bloat.ts'
import { counts } from './figures/counts.ts'
import { dashboard } from './figures/dashboard.ts'
import { deadlines } from './figures/deadlines.ts'
import { disk } from './figures/disk.ts'
import { fleets } from './figures/fleets.ts'
import { createGrowthFigure } from './figures/growth.ts'
import { history } from './figures/history.ts'
import { lists } from './figures/lists.ts'
import { http } from './figures/http.ts'
import { parked } from './figures/parked.ts'
import { pauses } from './figures/pauses.ts'
import { createPeersFigure } from './figures/peers.ts'
import { readers } from './figures/readers.ts'
import { postgres } from './figures/postgres.ts'
import { restart } from './figures/restart.ts'
import { resume } from './figures/resume.ts'
import { runs } from './figures/runs.ts'
import { schedules } from './figures/schedules.ts'
import { sdk } from './figures/sdk.ts'
import { startUp } from './figures/start-up.ts'
import { streams } from './figures/streams.ts'
import { told } from './figures/told.ts'
import { tokens } from './figures/tokens.ts'
import { trips } from './figures/trips.ts'
import { virtualTime } from './figures/virtual-time.ts'
import { workers } from './figures/workers.ts'
import { holdContest } from './contest.ts'
import { ForkedSide, serveSide, SIDE_FLAG } from './forked-side.ts'
import type { Figure, Lab } from './lab.ts'
import { answerPark, measureParkApart, PARK_FLAG } from './park.ts'
import { peerVersions, whyMissing } from './peers/installed.ts'
import { allPeers, heapPeers } from './peers/peers.ts'
import { serveWorker, startWorker, WORKER_FLAG } from './postgres-worker.ts'
import { laySlowWire, serveWire, WIRE_FLAG } from './slow-wire.ts'
import type { FigureReport, Occasion } from './report.ts'
import { renderReport } from './report.ts'
import { isHeadline, TEN } from './headlines.ts'
import { writePage } from './page.ts'
import { WRITE_FLAG, writeUp } from './write-up.ts'
import { answerTally, TALLY_FLAG, takeTallyApart } from './tally.ts'

const figures: readonly Figure[] = [
  counts,
  runs,
  tokens,
  resume,
  parked,
  deadlines,
  lists,
  dashboard,
  streams,
  readers,
  schedules,
  disk,
  restart,
  postgres,
  trips,
  told,
  bloat,
  history,
  workers,
  fleets,
  http,
  sdk,
  startUp,
  createPeersFigure(allPeers),
  virtualTime,
  pauses,
  createGrowthFigure(heapPeers),
]

const lab: Lab = {
  count: (full) => full,
  rounds: (full) => full,
  hold: (contest) =>
    holdContest(contest, { ...contest, open: async (name) => new ForkedSide(contest, name, contest.count) }),
  missing: (peer) => whyMissing(peer),
  measurePark: measureParkApart,
  measureTally: takeTallyApart,
  startWorker,
  layWire: laySlowWire,
}

/** The argument that measures every figure. */
const ALL_FLAG = '--all'
/** The argument that writes the README from the results, and measures nothing. */
const PAGE_FLAG = '--page'

const [first, ...others] = process.argv.slice(2)
if (first === PARK_FLAG) await answerPark(others)
else if (first === TALLY_FLAG) await answerTally(others)
else if (first === WORKER_FLAG) await serveWorker(others)
else if (first === WIRE_FLAG) await serveWire(others)
else if (first === PAGE_FLAG) writePage()
else if (first === SIDE_FLAG)
  await serveSide(
    figures.flatMap(({ contests }) => contests),
    others,
  )
else await bench(process.argv.slice(2))

/** Measures the named figures, those of the ten headlines, or with `--all` every one, and prints one table. `--write` keeps it. */
async function bench(words: readonly string[]): Promise<void> {
  const names = words.filter((word) => ![WRITE_FLAG, ALL_FLAG].includes(word))
  const unknown = names.find((name) => !figures.some((figure) => figure.name === name))
  if (unknown !== undefined) {
    const known = figures.map(({ name }) => name).join(', ')
    console.error(`Cannot measure "${unknown}": choose from ${known}, or --all`)
    process.exitCode = 1
    return
  }
  const isTen = names.length === 0 && !words.includes(ALL_FLAG)
  const occasion = occasionOf()
  const reports: FigureReport[] = []
  for (const figure of figures) {
    if (names.length > 0 && !names.includes(figure.name)) continue
    if (isTen && !TEN.some((headline) => headline.figure === figure.name)) continue
    console.error(`measuring ${figure.name} …`)
    reports.push(await reportOf(figure))
  }
  const report = renderReport(occasion, reports)
  console.log(`\n${isTen ? renderReport(occasion, reports.map(headlinesOf)) : report}`)
  if (words.includes(WRITE_FLAG)) writeUp(occasion, report, reports)
  if (reports.some((report) => 'error' in report)) process.exitCode = 1
}

/** The lines that `npm run bench` prints; its figures have more, which `--write` keeps. */
function headlinesOf(report: FigureReport): FigureReport {
  if ('error' in report) return report
  const { name, measurements } = report
  return { name, measurements: measurements.filter((line) => 'why' in line || isHeadline(name, line.what)) }
}

/** A figure that fails does not prevent the others. */
async function reportOf(figure: Figure): Promise<FigureReport> {
  const { name } = figure
  try {
    return { name, measurements: await figure.measure(lab) }
  } catch (error) {
    return { name, error }
  }
}

function occasionOf(): Occasion {
  const [load = 0] = loadavg()
  const model = cpus()[0]?.model.trim() ?? 'unknown'
  const platform = `${process.platform} ${process.arch}`
  return {
    at: new Date(),
    node: process.version,
    platform,
    cpus: cpus().length,
    model,
    load,
    peers: peerVersions(),
  }
}
