import { ID_DIGITS } from '../../../primitives/id.ts'
import { NO_INSTANT } from '../../id-skew.ts'

/** An id has its millisecond in so many digits, of five bits each. */
const PLACES = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
const LATEST = 2 ** 48 - 1

const SPELLED = PLACES.map((place) => `substr('${ID_DIGITS}', ((ms >> ${5 * place}) & 31)::int + 1, 1)`)

/**
 * Ids begin with the instant they were made at. `id_range`: the ids that records within bounds on `created_at` can have. It
 * is widened by the largest difference between the two instants of one record, as noted in `id_skews`: no insert waits for another
 * one, each adds a row if it knows of no greater one.
 */
export const ID_TIME_FUNCTIONS: string = `
CREATE FUNCTION $s.ids_at(prefix text, instant float8) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT prefix || '_' || ${SPELLED.join(' || ')}
  FROM (SELECT greatest(0, least(floor(instant), ${LATEST}))::bigint) AS at(ms)
$$;

CREATE FUNCTION $s.note_skew(of_prefix text, skew float8) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF skew > coalesce((SELECT max(ms) FROM $s.id_skews WHERE prefix = of_prefix), 0) THEN
    INSERT INTO $s.id_skews (prefix, ms) VALUES (of_prefix, skew);
  END IF;
END $$;

CREATE FUNCTION $s.id_range(of_prefix text, from_at float8, to_at float8, OUT floor text, OUT ceiling text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  skew float8;
BEGIN
  IF from_at IS NULL AND to_at IS NULL THEN RETURN; END IF;
  skew := coalesce((SELECT max(ms) FROM $s.id_skews WHERE prefix = of_prefix), 0);
  IF skew >= ${NO_INSTANT} THEN RETURN; END IF;
  floor := $s.ids_at(of_prefix, from_at - skew);
  ceiling := $s.ids_at(of_prefix, to_at + skew + 1);
END $$;
`
