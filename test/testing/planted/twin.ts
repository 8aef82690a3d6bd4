import type { Planted } from './planted.ts'

/** A program with a bug, and its twin without. */
export type Twin = (isFixed: boolean) => Planted
