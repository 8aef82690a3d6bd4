import type { Law } from '../law.ts'
import { awaitLaws } from './await-laws.ts'
import { chunkLaws } from './chunk-laws.ts'
import { claimLaws } from './claim-laws.ts'
import { hintLaws } from './hint-laws.ts'
import { insertLaws } from './insert-laws.ts'
import { listLaws } from './list-laws.ts'
import { ownerLaws } from './owner-laws.ts'
import { pruneLaws } from './prune-laws.ts'
import { runLaws } from './run-laws.ts'
import { tickLaws } from './tick-laws.ts'
import { tokenLaws } from './token-laws.ts'

/** Every law of the contract that one example shows, those first that others rest on. */
export const exampleLaws: readonly Law[] = [
  ...insertLaws,
  ...claimLaws,
  ...tokenLaws,
  ...awaitLaws,
  ...listLaws,
  ...runLaws,
  ...ownerLaws,
  ...tickLaws,
  ...chunkLaws,
  ...pruneLaws,
  ...hintLaws,
]
