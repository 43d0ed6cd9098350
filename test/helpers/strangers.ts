// What a role may make in `public` where that lets it create: functions, aggregates, operators, types, casts and views with the
// names that Postgres itself has, for arguments that suit better than those of Postgres. Each counts its calls.

import { randomBytes } from 'node:crypto'
import { Client, escapeLiteral } from 'pg'

export type Strangers = AsyncDisposable & {
  /** A session of the test that finds none of them. */
  readonly admin: Client
  /** How many objects there are. */
  readonly made: number
  /** What was called, whatever became of the transaction that did. */
  calls(): Promise<readonly string[]>
}

/** Types of arguments. The first ones are what the program's statements hold most. */
const types = [
  'text',
  'jsonb',
  'integer',
  'timestamptz',
  'bigint',
  'numeric',
  'boolean',
  'date',
  'text[]',
  'varchar',
  'name',
  'json',
]

/** What Postgres casts to a type implicitly: an object for that type is preferred to the one of Postgres. */
const turnsInto: Readonly<Record<string, readonly string[]>> = {
  text: ['varchar', 'name'],
  bigint: ['integer'],
  numeric: ['integer', 'bigint'],
  'double precision': ['integer', 'numeric'],
  'timestamp with time zone': ['date', 'timestamp'],
  'timestamp without time zone': ['date'],
  oid: ['integer', 'regclass'],
}

/** Statements that make all objects that can be made. */
const plant = (wide: boolean): readonly string[] => [
  `create table public.planted_calls (what pg_catalog.text);
   create table public.planted_objects (what pg_catalog.text);
   create sequence public.planted_count;
   grant all on public.planted_calls, public.planted_count to public`,
  // The sequence counts what is rolled back, too.
  `create function public.planted(what text) returns boolean language plpgsql set search_path = pg_catalog as $f$
    begin
      perform nextval('public.planted_count');
      begin
        insert into public.planted_calls values (what);
      exception when others then null; -- a transaction that only reads
      end;
      return true;
    end $f$`,
  `create function public.planted_make(statement text, what text) returns void language plpgsql set search_path = pg_catalog as $f$
    begin
      execute statement;
      insert into public.planted_objects values (what);
    exception when others then null; -- no such object is possible
    end $f$`,
  // Functions and aggregates.
  `do $do$ declare
    made record; body text; arguments text[]; at int; variant int; candidates text[]; of_type text; fixed int;
    wanted text[] := ${array(wide ? types : types.slice(0, 4))};
    turns jsonb := ${escapeLiteral(JSON.stringify(turnsInto))};
  begin
    for made in
      select p.proname, p.prokind, p.provariadic <> 0 as variadic, array(select format_type(t, null) from unnest(p.proargtypes) t) as types
      from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind in ('f', 'a') and p.pronargs between 0 and 4
        and not exists (select from unnest(p.proargtypes) t where t::regtype::text in ('internal', 'cstring'))
        and p.prorettype::regtype::text not in ('internal', 'trigger', 'event_trigger', 'language_handler', 'index_am_handler')
        ${wide ? '' : `and (p.provariadic <> 0 or exists (select from unnest(p.proargtypes) t join pg_type y on y.oid = t where y.typtype = 'p'))`}
      order by p.oid
    loop
      fixed := cardinality(made.types) - case when made.variadic then 1 else 0 end;
      for at in 0 .. case when made.variadic then 3 else 0 end loop
        foreach of_type in array case when made.variadic or made.types && array['"any"', 'anyelement', 'anynonarray', 'anyarray', 'anycompatible',
            'anycompatiblearray', 'anycompatiblenonarray', 'anyenum', 'anyrange'] then wanted else array['-'] end loop
          for variant in 0 .. case when of_type = '-' then 2 else 0 end loop
            arguments := array(select case
                when t like '%any%array' then rtrim(of_type, '[]') || '[]' when t like '%any%' then of_type
                when variant > 0 then coalesce(turns -> t ->> least(variant - 1, jsonb_array_length(turns -> t) - 1), t) else t end
              from unnest(made.types[1:fixed]) with ordinality a (t, n) order by n) || array_fill(of_type, array[at]);
            body := format('%I(%s)', made.proname, array_to_string(arguments, ', '));
            if made.prokind = 'f' then
              perform public.planted_make(format('create function public.%s returns text language plpgsql as %L',
                body, format('begin perform public.planted(%L); return null; end', body)), body);
            else
              perform public.planted_make(format('create function public.planted_state(%s) returns bigint language plpgsql as %L',
                array_to_string('bigint'::text || arguments, ', '), 'begin perform public.planted(''an aggregate''); return 1; end'), body);
              perform public.planted_make(format('create aggregate public.%s (sfunc = public.planted_state, stype = bigint)', body), body);
            end if;
          end loop;
        end loop;
      end loop;
    end loop;
  end $do$`,
  // Operators.
  `do $do$ declare
    one text; other text; made record;
    wanted text[] := ${array(wide ? types : types.slice(0, 4))};
  begin
    foreach one in array wanted loop foreach other in array wanted loop
      perform public.planted_make(format('create function public.planted_operator(%s, %s) returns boolean language plpgsql as %L', one, other,
        format('begin return public.planted(%L); end', format('an operator of %s and %s', one, other))), 'operator');
      for made in select distinct oprname from pg_operator where oprkind = 'b' loop
        perform public.planted_make(format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.planted_operator)',
          made.oprname, one, other), made.oprname);
      end loop;
    end loop; end loop;
  end $do$`,
  // Types, with casts from and to them, and relations. A view that runs shows no row.
  `do $do$ declare made record; begin
    for made in select t.typname from pg_type t where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype = 'b' and t.typname !~ '^_' loop
      perform public.planted_make(format('create type public.%I as (planted boolean)', made.typname), made.typname);
      perform public.planted_make(format('create function public.planted_cast(public.%I) returns pg_catalog.text language plpgsql as %L', made.typname,
        'begin perform public.planted(''a cast''); return null; end'), made.typname);
      perform public.planted_make(format('create cast (public.%I as pg_catalog.text) with function public.planted_cast(public.%1$I) as implicit', made.typname),
        made.typname);
    end loop;
    for made in select c.relname from pg_class c where c.relnamespace = 'pg_catalog'::regnamespace and c.relkind in ('r', 'v') loop
      perform public.planted_make(format('create view public.%I as select c.* from pg_catalog.%1$I c where not public.planted(%1$L)', made.relname), made.relname);
    end loop;
  end $do$`,
]

const array = (texts: readonly string[]): string => `array[${texts.map((text) => escapeLiteral(text)).join(', ')}]`

/**
 * Makes all this in a database, as a role of its own. `wide`: of every function of Postgres, not only of those that take values of
 * any type.
 * @param url of a superuser
 */
export async function plantStrangers(url: string, wide: boolean): Promise<Strangers> {
  const role = `stranger_${randomBytes(6).toString('hex')}`
  const client = new Client({ connectionString: url, options: '-c search_path=pg_catalog,pg_temp' })
  client.on('error', () => {})
  await client.connect()
  // First of all on everybody's path, so that what has the very arguments of Postgres is found, too.
  await client.query(`create role ${role}; grant create, usage on schema public to ${role};
    do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$; set role ${role}`)
  for (const statement of plant(wide)) await client.query(statement)
  await client.query('reset role')
  const { rows } = await client.query<{ made: number }>('select count(*)::int as made from public.planted_objects')
  return {
    admin: client,
    made: rows[0]?.made ?? 0,
    calls: async () => {
      const { rows: called } = await client.query<{ what: string }>(
        `select what from public.planted_calls union all
         select last_value || ' calls, also of transactions that were rolled back' from public.planted_count where is_called`,
      )
      return called.map(({ what }) => what)
    },
    [Symbol.asyncDispose]: async () => {
      await client.query(`drop owned by ${role} cascade; drop role ${role}`)
      await client.end()
    },
  }
}
