-- When two records have the same content: content.ts explains why the order of arrays does not count. Run by every
-- migrate.

-- A value with the elements of each array in one order, whichever they came in.
create or replace function mirror.unordered(value jsonb) returns jsonb
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return case jsonb_typeof(value)
    when 'array' then (
      select coalesce(jsonb_agg(e.element order by e.element), '[]') from (
        select case when jsonb_typeof(a.element) in ('array', 'object') then mirror.unordered(a.element) else a.element end
        from jsonb_array_elements(value) a (element)
      ) e (element))
    when 'object' then (
      select coalesce(jsonb_object_agg(m.name,
        case when jsonb_typeof(m.member) in ('array', 'object') then mirror.unordered(m.member) else m.member end), '{}')
      from jsonb_each(value) m (name, member))
    else value end;
end $$;

-- Whether two values have the same content. Another order leaves a text equally long, which decides most cases.
create or replace function mirror.same_content(one jsonb, other jsonb) returns boolean
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  if one is not distinct from other then
    return true;
  end if;
  if one is null or other is null or length(one::text) <> length(other::text) then
    return false;
  end if;
  return mirror.unordered(one) = mirror.unordered(other);
end $$;
