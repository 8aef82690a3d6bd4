/** The maximum number of repetitions of a program. */
const TRIES = 400

/** The shortest failing program, found by leaving out commands, first many at a time, then one by one. */
export async function shrinkProgram<Command>(
  program: readonly Command[],
  fails: (program: readonly Command[]) => Promise<boolean>,
): Promise<readonly Command[]> {
  let shortest = program
  let tries = 0
  for (let size = program.length >> 1; size >= 1;) {
    let isShorter = false
    for (let at = shortest.length - size; at >= 0 && tries < TRIES; at -= size) {
      const shorter = [...shortest.slice(0, at), ...shortest.slice(at + size)]
      tries += 1
      if (!(await fails(shorter))) continue
      shortest = shorter
      isShorter = true
    }
    if (!isShorter || tries >= TRIES) size >>= 1
  }
  return shortest
}
