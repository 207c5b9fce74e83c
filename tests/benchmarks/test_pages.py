"""The pages of results: their tables and pictures are those of the rows, and leave nothing out."""

import json
import re
import shlex
import shutil
from collections import Counter

import pytest
import yaml
from commands import command
from matplotlib.colors import to_hex

from baselines.commands.train import typed as given_by
from baselines.evaluation.rows import read_rows, write_rows
from baselines.training.config import key_of, normal
from baselines.training.run import config_for
from benchmarks import report
from benchmarks.figures import PICTURES, drawing
from benchmarks.published import PUBLISHED, best_published, published
from benchmarks.results import FOLDER
from benchmarks.rows import Committed, settings_of
from benchmarks.tables import TABLES
from benchmarks.tables.ladder import RUNGS, repository, rows_of
from benchmarks.tables.table import NOTE

TEXTS = {page: page.read_text(encoding="utf-8") for page in report.PAGES}


def edited(folder, table, edit):
    """Return the committed rows, copied to a folder with those of one table edited."""
    for path in FOLDER.glob("*.csv"):
        shutil.copy(path, folder)
    write_rows(edit(read_rows(folder / f"{table}.csv")), folder / f"{table}.csv")
    return Committed(folder)


@pytest.mark.parametrize("page", report.PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_the_pages_are_those_of_the_committed_rows(page):
    assert report.fill(TEXTS[page], Committed()) == TEXTS[page]


@pytest.mark.parametrize("lesson", report.LESSONS, ids=lambda path: path.stem)
def test_lessons_have_a_badge_once_the_address_is_known(lesson, tmp_path, monkeypatch):
    text, address = lesson.read_text(encoding="utf-8"), "https://github.com/someone/tiles"
    assert report.with_badge(lesson, repository()) == text
    path = tmp_path / lesson.relative_to(report.ROOT)
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(report, "ROOT", tmp_path)
    for _ in range(2):  # it is not added twice
        path.write_text(report.with_badge(path, address), encoding="utf-8")
    title, badge, *_ = json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"]
    where = f"{report.COLAB}/github/someone/tiles/blob/main/benchmarks/lessons/{lesson.name}"
    assert (title[:9], badge.endswith(f"]({where})\n")) == ("# Lesson ", True)
    assert report.with_badge(path, "") == text


def test_every_table_and_picture_stands_on_one_page():
    text = "".join(TEXTS.values())
    stand = Counter(re.findall(r"<!-- table: ([\w-]+) -->|figures/([\w-]+)\.svg", text))
    names = [*((name, "") for name in TABLES), *(("", name) for name in PICTURES)]
    assert stand == dict.fromkeys(names, 1)


@pytest.fixture(scope="module")
def drawn():
    """Return by picture its bytes, and the figure and the data that it is drawn from."""
    asked, made, svg = [], {}, drawing.svg
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "svg", lambda *given: asked.append(given) or svg(*given))
        for name, draw in PICTURES.items():
            made[name] = (draw(Committed()), *asked.pop())
    return made


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_show_the_committed_rows(name, drawn):
    """Another version of matplotlib may draw other bytes of the same data."""
    picture, there = drawn[name][0], (report.FIGURES / f"{name}.svg").read_bytes()
    (data,) = set(re.findall(rb"data [0-9a-f]{64}", picture))
    assert data in there
    assert len(there) < 200_000


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_draws_and_names_every_line_that_it_is_asked_for(name, drawn):
    _, figure, panels = drawn[name]
    panels = panels[0] if name.startswith("learning") else panels
    for axis, lines in zip(figure.axes, panels.values(), strict=True):
        labels = axis.get_legend_handles_labels()[1]
        assert lines
        assert [*lines] == labels
        legend = axis.get_legend().texts if axis.get_legend() else axis.texts
        assert set(lines) <= {text.get_text() for text in legend}


def test_a_kind_of_player_has_one_color_in_all_pictures(drawn):
    for name in ("learning", "learning-2048", "reach"):
        for axis in drawn[name][1].axes:
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                player = re.split(r",| †", label)[0]
                assert to_hex(handle.get_color()) == to_hex(drawing.LOOKS[player]["color"])


@pytest.mark.parametrize("name", report.FILMS)
def test_films_show_the_games_that_are_played_now(name):
    path, games = report.FIGURES / f"{name}.gif", report.film(name)
    assert report.is_current(path, games, report.SPEED, report.FRAMES)
    assert not report.is_current(path, games, report.SPEED, report.FRAMES - 1)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung["recipe"])
def test_the_commands_of_the_ladder_train_and_play_as_its_rows_record(rung):
    rows = rows_of(rung, Committed())
    if "program" in rung:
        (row,) = rows
        budget = f"--minutes {float(row['minutes']):g} --num-envs {row['num_envs']}"
        assert budget in rung["program"]
        return
    name, *words = shlex.split(rung["train"])
    seeds = words.pop(words.index("--seeds") + 1) if "--seeds" in words else "1"
    config = config_for(name, **given_by(name, [word for word in words if word != "--seeds"]))
    assert len(rows) == int(seeds)
    for row in rows:
        made = json.loads(row["record"])
        assert (config.env, config.minutes) == (row["env"], made.get("minutes"))
        settings = normal(vars(settings_of(row | {"agent": name})))
        assert {n: v for n, v in normal(config.settings).items() if v != settings.get(n)} == {}
    options = dict(zip(*[iter(shlex.split(rung["evaluate"]))] * 2, strict=False))
    played = {"--search": "depth", "--milliseconds": "milliseconds", "--downgrade": "downgrade"}
    assert all(rows[0][played[o]] == value for o, value in options.items() if o in played)
    assert options.get("--episodes") == rows[0].get("episodes")


def test_a_missing_seed_is_visible_in_tables_and_in_the_number_of_missing_rows(tmp_path):
    last = ("two cores", "2")
    few = edited(
        tmp_path,
        "ntuple",
        lambda rows: [row for row in rows if (row["label"], row["train_seed"]) != last],
    )
    table = TABLES["ntuple"](few)
    seeds = {line[table.head.index("seeds")] for line in table.lines if line[1] == "two cores"}
    assert seeds == {"2 of 3", "1"}  # of 2048, and of 2584
    lacks, had = (TABLES["missing"](rows) for rows in (few, Committed()))
    n, before = (re.findall(r"(\d+) rows? of `ntuple`", text) or [0] for text in (lacks, had))
    assert int(n[0]) == int(before[0]) + 4  # 1- to 3-ply, and downgraded


@pytest.mark.parametrize("table", ["speed", "ntuple", "crosstable"])
def test_rows_whose_key_is_none_of_the_list_are_marked(table, tmp_path):
    stale = {"record": "{}", "key": key_of({})}
    committed = edited(tmp_path, table, lambda rows: [row | stale for row in rows])
    assert all(row["is_stale"] for row in committed.rows(table))
    text = str(TABLES[table](committed))
    assert NOTE in text
    assert len(re.findall(r"(?m)^\|.* † \|", text)) == len(re.findall(r"(?m)^\|", text)) - 2
    listed = command("run", "--list", "--only", table, "--results", tmp_path, module="benchmarks")
    assert (" out of date" in listed.stdout) == (table != "speed")  # which names its rows itself


def test_unknown_tables_and_damaged_cells_are_told_with_the_table(tmp_path):
    with pytest.raises(ValueError, match=r"\A.*'nothing'.*\Z"):
        report.fill("<!-- table: nothing -->\n<!-- end -->", Committed())
    damaged = edited(tmp_path, "plug", lambda rows: [row | {"mean": "1{89.356"} for row in rows])
    with pytest.raises(ValueError, match=r"\A.*plug.*89\.356.*\Z"):
        report.fill("<!-- table: plug -->\n<!-- end -->", damaged)


def test_published_results_are_compared_at_as_many_plies_or_at_the_next_more():
    assert [best_published("deep", depth)["depth"] for depth in (1, 2)] == [1, 3]
    assert best_published("fibonacci", 3) is None


def test_what_the_pages_say_in_words_is_so():
    def means(table, **columns):
        rows = Committed().rows(table)
        return [float(row["mean"]) for row in rows if columns.items() <= row.items()]

    hour = {"env": "Tiles2048-v0", "minutes": "60"}
    ppo, ppo_2 = (means("deep", label="ppo, an hour", depth=depth, **hour) for depth in "12")
    dqn, dqn_2 = (means("deep", label="dqn, an hour", depth=depth, **hour) for depth in "12")
    assert min(ppo) < max(dqn)
    assert min(dqn) < max(ppo)
    assert min(dqn_2) > max(ppo_2)
    (random,) = means("agents", label="random, article")
    alone, searched = (means("recipe", label="article", depth=depth) for depth in "12")
    assert max(alone) < random < min(searched) / 1.9


@pytest.mark.parametrize("name", yaml.safe_load(PUBLISHED.read_text())["figures"])
def test_published_results_have_a_source(name):
    for row in published(name):
        source = row["source"]
        assert all((source.author, source.title, source.year, source.link))
        assert source.link.startswith("http") or source.link == "unknown"
